"""The tenants' network (OVN): MTU, id ranges, bridge mappings, database settings."""

from __future__ import annotations

from ...layers.ports import PORTS
from ..layout.context import Layout
from ..types import NetworkPlan, OvnPlan, SubnetPoolPlan

IPV4_HEADER = 20
# Geneve with OVN's options, UDP header and inner Ethernet header: the size that Neutron's OVN driver requires.
OVN_HEADER = 38

# Ports on each control host. Chassis use another listener of the southbound database, where RBAC limits their changes.
NORTHBOUND, SOUTHBOUND = PORTS["ovn-nb"].port, PORTS["ovn-sb"].port
# Largest number of chassis -> milliseconds. With many chassis a database can be busy for over a second: with the
# default timer of one second, its members would consider the leader dead and elect a new one.
ELECTION_TIMERS = {100: 4000, 500: 8000}
LONGEST_ELECTION_TIMER = 16000
INACTIVITY_PROBE = 60000


def ovn(layout: Layout) -> OvnPlan:
    """Return the settings of the tenants' network."""
    written = layout.site.ovn
    in_tunnels = written.tenant_network == "geneve"
    mappings = bridge_mappings(layout)
    mtus = {network.name: network.mtu for network in layout.networks.values()}
    control = sorted(layout.with_role("control"), key=lambda host: host.name)
    fits = min(room(one, written.max_header_size) if in_tunnels else one.mtu for one in carriers(layout))
    return OvnPlan(
        tenant_network=written.tenant_network,
        tunnel_ids=written.tunnel_ids,
        vlan_range=written.vlan_range,
        max_header_size=written.max_header_size,
        tenant_mtu=written.tenant_mtu or fits,
        distributed_floating_ip=written.distributed_floating_ip,
        bridge_mappings=mappings,
        northbound=tuple(f"ssl:{host.address}:{NORTHBOUND}" for host in control),
        southbound=tuple(f"ssl:{host.address}:{SOUTHBOUND}" for host in control),
        path_mtu=min(one.mtu for one in carriers(layout)),
        physical_mtus={name: mtus[network] for name, network in mappings.items() if network in mtus},
        election_timer=election_timer(len(layout.with_role("hypervisor"))),
        inactivity_probe=INACTIVITY_PROBE,
        subnet_pool=SubnetPoolPlan(cidr=pool.cidr, prefix=pool.prefix) if (pool := written.subnet_pool) else None,
    )


def bridge_mappings(layout: Layout) -> dict[str, str]:
    """Return the provider network of each physical network."""
    providers = [network.name for network in layout.by_purpose("provider")]
    numbered = {f"physnet{number}": name for number, name in enumerate(providers, 1)}
    return dict(layout.site.ovn.bridge_mappings) or numbered


def election_timer(chassis: int) -> int:
    """Return the election timer, in milliseconds, for a number of chassis."""
    return next((timer for most, timer in ELECTION_TIMERS.items() if chassis <= most), LONGEST_ELECTION_TIMER)


def carriers(layout: Layout) -> list[NetworkPlan]:
    """Return the networks that carry tenants' tunnels between hosts."""
    return layout.by_purpose("tunnel") or [layout.management]


def room(network: NetworkPlan, header: int) -> int:
    """Return the largest tenant packet, in bytes, that fits into a tunnel with Geneve headers of ``header`` bytes."""
    return network.mtu - IPV4_HEADER - max(header, OVN_HEADER)
