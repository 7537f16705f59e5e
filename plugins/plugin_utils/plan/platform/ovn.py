"""The tenants' network: MTU, ranges, bridge mappings."""

from __future__ import annotations

from ...layers.ports import PORTS
from ..layout.context import Layout
from ..types import NetworkPlan, OvnPlan

IPV4_HEADER = 20
# Geneve with OVN's options, the UDP header and the inner Ethernet header: what Neutron's OVN driver needs.
OVN_HEADER = 38

# On each control host. Chassis connect to another listener of SB, where their role says what they may change.
NORTHBOUND, SOUTHBOUND = PORTS["ovn-nb"].port, PORTS["ovn-sb"].port
# Up to so many chassis -> milliseconds. A database that serves many is busy for longer than a second now and then: its
# members would take its leader for dead and choose again (the default is one second).
ELECTION_TIMERS = {100: 4000, 500: 8000}
LONGEST_ELECTION_TIMER = 16000
INACTIVITY_PROBE = 60000


def ovn(layout: Layout) -> OvnPlan:
    """Return the tenants' network."""
    written = layout.site.ovn
    providers = [network.name for network in layout.by_purpose("provider")]
    in_tunnels = written.tenant_network == "geneve"
    mappings = dict(written.bridge_mappings) or {f"physnet{number}": name for number, name in enumerate(providers, 1)}
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
    )


def election_timer(chassis: int) -> int:
    """Return the milliseconds that fit for so many chassis."""
    return next((timer for most, timer in ELECTION_TIMERS.items() if chassis <= most), LONGEST_ELECTION_TIMER)


def carriers(layout: Layout) -> list[NetworkPlan]:
    """Return the networks tenants' tunnels cross hosts on."""
    return layout.by_purpose("tunnel") or [layout.management]


def room(network: NetworkPlan, header: int) -> int:
    """Return how many bytes of a tenant's packet fit into a tunnel with Geneve headers of ``header`` bytes."""
    return network.mtu - IPV4_HEADER - max(header, OVN_HEADER)
