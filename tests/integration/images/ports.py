"""Asks Neutron for what its plugins bring, as an administrator; prints what OVN has of it as JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import subnet_pool

_NB = ["/opt/ovn/usr/bin/ovn-nbctl", "--db=tcp:127.0.0.1:6641", "--bare"]
_LIBRARIES = {"LD_LIBRARY_PATH": "/opt/ovn/usr/lib/x86_64-linux-gnu"}


def rows(table: str, column: str, *where: str) -> list[str]:
    """Return a column of rows of OVN's northbound database."""
    call = [*_NB, f"--columns={column}", "find", table, *where]
    said = subprocess.run(call, env=_LIBRARIES, capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if line]


def pooled(network: Any, project: str) -> dict[str, Any]:
    """Make the subnet pool, again, and larger; have Neutron make an automatic network of it."""
    done = []
    for cidr in ("10.128.0.0/16", "10.128.0.0/16", "10.128.0.0/15"):
        changes, pool = Changes(check=False), SimpleNamespace(cidr=cidr, prefix=24)
        subnet_pool.converge(network, pool, changes, project=project)  # type: ignore[arg-type]
        done.append(changes.done)
    plan: Any = SimpleNamespace(ovn=SimpleNamespace(subnet_pool=pool), networks={"p": SimpleNamespace(default=True)})
    subnet_pool.verify(network, plan, project=project)
    made = network.get_auto_allocated_topology(project)
    cidrs = [one.cidr for one in network.subnets(network_id=made.id) if one.ip_version == 4]
    network.delete_auto_allocated_topology(project)
    return {"done": done, "cidrs": cidrs}


def main() -> None:
    """Make all of it."""
    site = json.loads(Path("/mnt/site.json").read_text())
    admin = site["admin"]
    cloud = openstack.connect(
        auth_url=site["identity"], username=admin["username"], password=admin["password"],
        project_name=admin["project_name"], user_domain_name="Default", project_domain_name="Default",
        region_name=admin["region_name"], interface="internal",
    )  # fmt: skip
    network, project = cloud.network, cloud.current_project_id
    physical = {"provider_network_type": "flat", "provider_physical_network": "physnet1"}
    outside = network.create_network(name="provider", is_router_external=True, is_default=True, **physical)
    network.create_subnet(network_id=outside.id, ip_version=4, cidr="203.0.113.0/24", is_dhcp_enabled=False)
    found: dict[str, Any] = {"pool": pooled(network, project)}
    inside = network.create_network(name="inside")
    subnet = network.create_subnet(network_id=inside.id, ip_version=4, cidr="192.0.2.0/24")
    router = network.create_router(name="r", external_gateway_info={"network_id": outside.id})
    network.add_interface_to_router(router, subnet_id=subnet.id)
    port, child = (network.create_port(network_id=inside.id) for _ in range(2))

    policy = network.create_qos_policy(name="limits")
    network.create_qos_bandwidth_limit_rule(policy, max_kbps=20000, max_burst_kbps=2000, direction="egress")
    network.create_qos_dscp_marking_rule(policy, dscp_mark=26)
    network.update_port(port, qos_policy_id=policy.id)
    found["qos"] = sorted(rows("QoS", "action")), sorted(rows("QoS", "bandwidth"))

    sub = {"port_id": child.id, "segmentation_type": "vlan", "segmentation_id": 101}
    network.create_trunk(port_id=port.id, sub_ports=[sub])
    (parent,) = rows("Logical_Switch_Port", "parent_name", f"name={child.id}")
    found["trunk"] = parent == port.id, rows("Logical_Switch_Port", "tag", f"name={child.id}")

    address = network.create_ip(floating_network_id=outside.id)
    network.create_floating_ip_port_forwarding(
        address, internal_port_id=port.id, internal_ip_address=port.fixed_ips[0]["ip_address"],
        internal_port=22, external_port=2222, protocol="tcp",
    )  # fmt: skip
    found["forwarded"] = f"{address.floating_ip_address}:2222" in " ".join(rows("Load_Balancer", "vips"))

    group = port.security_group_ids[0]
    log = {"resource_type": "security_group", "resource_id": group, "event": "ALL", "name": "seen"}
    answer = network.post("/log/logs", json={"log": log})
    found["log"] = answer.status_code, bool(rows("ACL", "name", "log=true"))
    found["segments"] = len([one for one in network.segments() if one.network_id == outside.id])
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
