"""Neutron: tenants' networks, on OVN. On hypervisors only its agent runs, outside the cluster."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from . import designate, dialects, neutron_plugins, ovn, sriov
from .neutron_workers import COMMANDS, OPTIONS, TLS, worker
from .parts import WORKERS_OF_SLOW, ChartNames, api_values, merge, public_endpoint, queued, uwsgi
from .probing import PROBE, Client, forgotten, probe
from .record import PublicApi, ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes
from .timeouts import TIMEOUTS

if TYPE_CHECKING:
    from ..plan.types import OvnPlan, Plan

METADATA_PROXY = "neutron/metadata-proxy"  # name of the secret
_OBJECT = "Deployment/neutron-server"
_NAMES = ChartNames(api="server", resources="server", probes=("server", "server"), labels=("server", "job"))
_CIDR = "192.0.2.0/24"  # reserved for documentation (RFC 5737)

# What Nova's account reads of every project, and Neutron's own rules show to administrators alone.
_SERVICE = "rule:admin_only or rule:service_api"
_POLICY = {
    "get_floatingip": f"{_SERVICE} or (role:reader and project_id:%(project_id)s)",
    **{f"get_network:provider:{one}": _SERVICE for one in ("network_type", "physical_network", "segmentation_id")},
    **{f"get_{one}": _SERVICE for one in ("network:segments", "port:resource_request", "segment", "subnet:segment_id")},
}


def sync_command(namespace: str, mode: str) -> str:
    """Return the command that compares OVN with Neutron's database (``log``), or rewrites OVN from it (``repair``)."""
    command = f"neutron-ovn-db-sync-util {OPTIONS} --ovn-neutron_sync_mode {mode}"
    return f"kubectl -n {namespace} exec deploy/neutron-{next(iter(COMMANDS))} -- {command}"


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values. All agents are off: OVN does their work, and that of cards runs on hypervisors."""
    agents = ("dhcp_agent", "l3_agent", "metadata_agent", "netns_cleanup_cron", "ovs_agent", "sriov_agent")
    own = {
        "network": {"backend": ["ovn"]},
        "conf": merge(
            merge(queued("neutron"), _names(plan)),
            {
                "neutron": {
                    "DEFAULT": {
                        "service_plugins": ",".join(neutron_plugins.SERVICE_PLUGINS),
                        # With an empty availability zone, no network could be created.
                        "default_availability_zones": "",
                        "global_physnet_mtu": max(plan.ovn.path_mtu, *plan.ovn.physical_mtus.values(), 0),
                        # With OVN alone, Neutron gets no calls by the message queue.
                        "rpc_workers": 0,
                        "rpc_state_report_workers": 0,
                    }
                },
                "neutron_api_uwsgi": uwsgi(sizes.workers["neutron"]),
                "plugins": {"ml2_conf": _ml2(plan)},
                "ovn_agent": {"DEFAULT": _metadata(plan), "cache": {"enabled": False}},
                "policy": _POLICY,
            },
        ),
        "pod": {
            "mounts": {
                "neutron_server": {"neutron_server": {"volumes": [ovn.volume()], "volumeMounts": [ovn.mount(TLS)]}}
            }
        },
        "manifests": {
            **{f"daemonset_{name}": False for name in agents},
            "deployment_rpc_server": False,
            "job_bootstrap": False,
            "pod_rally_test": False,
        },
        "extraObjects": {
            name.replace("-", "_"): worker(plan, sizes, name, command) for name, command in COMMANDS.items()
        },
    }
    shared = api_values(plan, sizes, "neutron", memory="256Mi", limit="2Gi", cpu=500, names=_NAMES)
    return merge(merge(shared, own), sriov.neutron(plan, sizes))


def _names(site: Plan) -> Values:
    """Return `conf` of ports' names: with Designate, records in zones of the project whose user asks, by its token.

    No reverse records: one zone of Neutron's would have addresses of all projects, which may be the same.
    """
    dns = site.openstack.dns
    if not dns.domain:
        return {}
    conf: Values = {"DEFAULT": {"dns_domain": dns.domain}}  # without a dot at its end, which DHCP would tell
    if designate.SERVICE.name in site.openstack.services:
        conf["DEFAULT"]["external_dns_driver"] = "designate"
        conf["designate"] = {
            "url": designate.internal_url(site), "allow_reverse_dns_lookup": False, "timeout": TIMEOUTS.service,
        }  # fmt: skip
    return {"neutron": conf}


def _ml2(site: Plan) -> Values:
    """Return ml2_conf.ini."""
    plan = site.ovn
    drivers = {**neutron_plugins.ML2_DRIVERS, **(neutron_plugins.DNS_DRIVER if site.openstack.dns.domain else {})}
    physical = {
        "physical_network_mtus": ",".join(f"{name}:{mtu}" for name, mtu in sorted(plan.physical_mtus.items())),
    }
    ranges = {"network_vlan_ranges": ",".join(_vlans(plan))} if plan.bridge_mappings else {}
    return {
        "ml2": {
            "mechanism_drivers": "ovn",
            "type_drivers": "geneve,flat,vlan",
            "tenant_network_types": plan.tenant_network,
            "extension_drivers": ",".join(drivers),
            "path_mtu": plan.path_mtu,
            **(physical if plan.physical_mtus else {}),
        },
        "ml2_type_geneve": {
            "vni_ranges": plan.tunnel_ids.replace("-", ":"),
            # The tenants' MTU is the path's MTU minus this and the IP header.
            "max_header_size": max(plan.max_header_size, plan.path_mtu - plan.tenant_mtu - 20),
        },
        "ml2_type_vlan": ranges,
        # Multicast goes to ports that asked for it. Of groups that nobody asked for it goes to all, as before: OVN asks
        # nobody again, and forgets members after five minutes.
        "ovs": {"igmp_snooping_enable": True, "igmp_flood_unregistered": True},
        "ovn": {
            **ovn.connection(plan, TLS),
            "ovn_metadata_enabled": True,
            "enable_distributed_floating_ip": plan.distributed_floating_ip,
            "neutron_sync_mode": "log",  # only an operator decides on a repair
        },
    }


def _vlans(ovn: OvnPlan) -> Iterator[str]:
    """Yield the physical networks; the first has the tenants' VLANs, if tenants get VLANs."""
    for number, name in enumerate(sorted(ovn.bridge_mappings)):
        tenants = ovn.vlan_range if ovn.tenant_network == "vlan" and number == 0 else None
        yield f"{name}:{tenants.replace('-', ':')}" if tenants else name


def _metadata(plan: Plan) -> Values:
    """Return the address of Nova's metadata API for agents on hypervisors, outside the cluster."""
    proxy = {"metadata_proxy_shared_secret": secret(METADATA_PROXY)}
    if "nova" not in plan.openstack.services:
        return proxy
    name = public_endpoint(plan, "nova", "compute-metadata").name
    return {**proxy, "nova_metadata_host": name, "nova_metadata_port": 443, "nova_metadata_protocol": "https"}


def _ask(client: Client) -> Iterator[Check]:
    """Verify promised extensions and agents, and that a network with subnet, port and router can be created."""
    now = datetime.datetime.now(datetime.UTC)
    for kind in ("routers", "networks"):
        for left in (client.call("GET", f"/{kind}?name={PROBE}").body or {}).get(kind) or ():
            if forgotten(left, now=now):
                _remove(client, **{kind[:-1]: str(left["id"])})
    listed = (client.call("GET", "/extensions").body or {}).get("extensions") or ()
    yield neutron_plugins.judge(listed, neutron_plugins.promised(client.context))
    yield _network(client)
    yield judge_agents((client.call("GET", "/agents").body or {}).get("agents") or ())


def _network(client: Client) -> Check:
    """Check a tenant's first steps. Everything created is removed, even on failure."""
    made: dict[str, str] = {}
    try:
        network = _make(client, made, "network", name=PROBE, admin_state_up=True)
        subnet = _make(client, made, "subnet", name=PROBE, network_id=network["id"], ip_version=4, cidr=_CIDR)
        port = _make(client, made, "port", name=PROBE, network_id=network["id"])
        router = _make(client, made, "router", name=PROBE)
        client.call("PUT", f"/routers/{router['id']}/add_router_interface", body={"subnet_id": subnet["id"]})
    finally:
        _remove(client, **made)
    plan = client.context.plan
    return judge_network(network, port, wanted=plan.ovn.tenant_mtu, domain=plan.openstack.dns.domain)


def _make(client: Client, made: dict[str, str], kind: str, **wanted: Any) -> dict[str, Any]:
    answer = client.call("POST", f"/{kind}s", body={kind: wanted}, good=201).body or {}
    made[kind] = str(answer[kind]["id"])
    return dict(answer[kind])


def _remove(client: Client, *, network: str = "", router: str = "", **_more: str) -> None:
    """Remove a router with its interfaces, and a network with its ports and subnets."""
    if router:
        ports = (client.call("GET", f"/ports?device_id={router}").body or {}).get("ports") or ()
        for port in ports:
            client.call("PUT", f"/routers/{router}/remove_router_interface", body={"port_id": port["id"]})
        client.gone(f"/routers/{router}")
    if network:
        for port in (client.call("GET", f"/ports?network_id={network}&name={PROBE}").body or {}).get("ports") or ():
            client.gone(f"/ports/{port['id']}")
        client.gone(f"/networks/{network}")


def judge_network(
    network: Mapping[str, Any], port: Mapping[str, Any], *, wanted: int, domain: str | None = None
) -> Check:
    """Check that the port has an address, with a name in ``domain``, and the network the planned MTU."""
    address = [str(ip.get("ip_address")) for ip in port.get("fixed_ips") or ()]
    mtu = network.get("mtu")
    wrong = [] if address else ["the port has no address"]
    wrong += [] if mtu == wanted else [f"its MTU is {mtu}, the plan's {wanted}: large packets would be lost"]
    named = [str(one.get("fqdn")) for one in port.get("dns_assignment") or ()]
    if domain and not any(name.endswith(f".{domain}.") for name in named):
        wrong.append(f"the port has no name in {domain}")
    detail = "; ".join(wrong) or f"made with port {address[0]} and router, MTU {mtu}, and removed"
    return Check(name="network", ok=not wrong, detail=detail, layer="network", object=_OBJECT)


def judge_agents(agents: Any) -> Check:
    """Check that agents are alive. Some dead hypervisors are no fault of Neutron; if all are dead, it is one."""
    dead = sorted({str(agent.get("host")) for agent in agents if not agent.get("alive")})
    alive = sum(bool(agent.get("alive")) for agent in agents)
    said = f"{alive} of {len(agents)} alive" + (f"; not: {', '.join(dead[:5])}" if dead else "")
    return Check(
        name="agents", ok=bool(alive) or not agents, detail=said if agents else "none yet: no hypervisor has joined",
        layer="network", object="Deployment/neutron-periodic-workers",
    )  # fmt: skip


SERVICE = ServiceRecord(
    name="neutron",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    accounts={"nova": "for calls to Nova", "placement": "for calls to Placement"},
    roles={"nova": "admin,service"},  # Nova takes events about other projects' instances from nobody else
    layer="network",
    plans_for="hypervisor",
    api=PublicApi(type="network", host="network", port=9696, node_port=30096, backend="neutron-server"),
    images={"neutron_server": "openstack", "neutron_db_sync": "openstack"},
    secrets={METADATA_PROXY: "proves to Nova that a request for metadata is a guest's own"},
    workers=WORKERS_OF_SLOW,
    values=values,
    dialect=dialects.neutron,
    verify=probe("neutron", _ask, path="/v2.0"),
)
