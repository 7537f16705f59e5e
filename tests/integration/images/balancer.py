"""Makes a load balancer by openstacksdk, as an application does; prints what OVN has of it as JSON."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openstack

_NB = ["/opt/ovn/usr/bin/ovn-nbctl", "--db=tcp:127.0.0.1:6641", "--format=json"]
_LIBRARIES = {"LD_LIBRARY_PATH": "/opt/ovn/usr/lib/x86_64-linux-gnu"}
_PATIENCE = 240.0
ADDRESSES = ("192.0.2.21", "192.0.2.22")


def rows(balancer: str) -> list[dict[str, Any]]:
    """Return name, vips and protocol of a balancer's rows in OVN's northbound database."""
    columns = ["--columns=name,vips,protocol", "find", "Load_Balancer", f"name={balancer}"]
    said = subprocess.run([*_NB, *columns], env=_LIBRARIES, capture_output=True, text=True, check=True).stdout
    table = json.loads(said)
    found = [dict(zip(table["headings"], row, strict=True)) for row in table["data"]]
    return [{**row, "vips": dict(row["vips"][1])} for row in found]


def wait(what: str, ready: Callable[[], Any]) -> Any:
    """Return what ``ready`` returns once it is true."""
    end = time.monotonic() + _PATIENCE
    while not (found := ready()):
        if time.monotonic() > end:
            raise SystemExit(f"waited {_PATIENCE:.0f} s for {what}")
        time.sleep(0.5)
    return found


def main() -> None:
    """Make network, balancer, listener, pool and members; delete them."""
    site = json.loads(Path("/mnt/site.json").read_text())
    admin = site["admin"]
    cloud = openstack.connect(
        auth_url=site["identity"], username=admin["username"], password=admin["password"],
        project_name=admin["project_name"], user_domain_name="Default", project_domain_name="Default",
        region_name=admin["region_name"], interface="internal",
    )  # fmt: skip
    network = cloud.network.create_network(name="balanced")
    subnet = cloud.network.create_subnet(network_id=network.id, name="balanced", ip_version=4, cidr="192.0.2.0/24")
    lb = cloud.load_balancer

    def settled(one: Any) -> Any:
        now = lb.get_load_balancer(one.id)
        return None if now.provisioning_status.startswith("PENDING_") else now

    balancer = lb.create_load_balancer(name="web", vip_subnet_id=subnet.id, provider="ovn")
    states = [wait("the balancer", lambda: settled(balancer)).provisioning_status]
    listener = lb.create_listener(name="web", load_balancer_id=balancer.id, protocol="TCP", protocol_port=80)
    states.append(wait("its listener", lambda: settled(balancer)).provisioning_status)
    pool = lb.create_pool(name="web", listener_id=listener.id, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
    states.append(wait("its pool", lambda: settled(balancer)).provisioning_status)
    for address in ADDRESSES:
        lb.create_member(pool, address=address, protocol_port=8080, subnet_id=subnet.id)
        states.append(wait("its member", lambda: settled(balancer)).provisioning_status)
    made = rows(balancer.id)
    address = lb.get_load_balancer(balancer.id).vip_address
    lb.delete_load_balancer(balancer.id, cascade=True)
    wait("its end", lambda: balancer.id not in [one.id for one in lb.load_balancers()])
    # OVN's own port of each network, by which it serves metadata, stays as long as the network.
    ports = [port.name for port in cloud.network.ports(network_id=network.id) if "distributed" not in port.device_owner]
    found = {"states": states, "address": address, "made": made, "left": rows(balancer.id), "ports": ports}
    cloud.network.delete_network(network.id)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
