"""Layer 2: VLAN ids, tunnel ids and frame sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ..form import error, info, warning
from ..layout.context import PlanContext
from ..platform.ovn import OVN_HEADER, carriers, room
from ..types import Finding

OVN_PORT = 6081  # Geneve's own port; OVN has no other
MAX_TUNNEL_ID = 2**24 - 1  # a VNI has 24 bits
MOST_TUNNEL_IDS = 500_000  # 16 million took 6 GB in each of three processes, for more than 15 minutes
MIN_POD_MTU = 1280  # the minimum of IPv6; common software is tested with it


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about VLANs, tunnel ids and MTUs."""
    yield from _vlans(context)
    yield from _tunnel_ids(context)
    yield from _mtus(context)


def _bounds(text: str) -> tuple[int, int]:
    low, high = text.split("-")
    return int(low), int(high)


def _vlans(context: PlanContext) -> Iterator[Finding]:
    tagged = [network for network in context.plan.networks.values() if network.vlan is not None]
    for one, other in combinations(tagged, 2):
        if one.vlan == other.vlan:
            yield error("vlan-collision", f"networks.{one.name}.vlan", f"networks.{other.name}.vlan")(
                what=f"{one.name} and {other.name} both have VLAN {one.vlan}",
                why="two planes on one VLAN are one plane: broadcasts, and whoever sits on one, reach the other",
                remedy="give each plane a VLAN of its own",
            )
    ranges = {
        f"networks.{name}.vlan_range": network.vlan_range
        for name, network in context.layout.written.items()
        if network.vlan_range
    }
    if context.site.ovn.vlan_range:
        ranges["ovn.vlan_range"] = context.site.ovn.vlan_range
    parsed = {key: _bounds(text) for key, text in ranges.items()}
    for key, (low, high) in parsed.items():
        if not 1 <= low <= high <= 4094:
            yield error("vlan-range-invalid", key)(
                what=f"{low}-{high} is not a range of VLAN ids",
                why="ids go from 1 to 4094, the lower end first",
                remedy="write a range such as 1000-1999",
            )
        for network in tagged:
            if low <= (network.vlan or 0) <= high:
                yield error("vlan-in-tenant-range", f"networks.{network.name}.vlan", key)(
                    what=f"VLAN {network.vlan} of {network.name} is inside {low}-{high}, which tenants draw from",
                    why=f"a tenant's network could be given the wire of {network.name}",
                    remedy=f"move {network.name} out of the range, or cut the range",
                )
    for (one_key, (one_low, one_high)), (other_key, (other_low, other_high)) in combinations(parsed.items(), 2):
        if one_low <= other_high and other_low <= one_high:
            yield error("vlan-ranges-overlap", one_key, other_key)(
                what=f"{one_low}-{one_high} and {other_low}-{other_high} share ids",
                why="two pools would hand out one VLAN to two networks",
                remedy="write ranges that do not meet",
            )
    if context.site.ovn.tenant_network == "vlan" and not context.site.ovn.vlan_range:
        yield error("vlan-range-missing", "ovn.vlan_range")(
            what="tenants' networks are to be VLANs, and no range of ids is written",
            why="Neutron could create no network",
            remedy="write ovn.vlan_range, or tenant_network: geneve",
        )


def _tunnel_ids(context: PlanContext) -> Iterator[Finding]:
    low, high = _bounds(context.site.ovn.tunnel_ids)
    if not 1 <= low <= high <= MAX_TUNNEL_ID:
        yield error("tunnel-id-range-invalid", "ovn.tunnel_ids")(
            what=f"{low}-{high} is not a range of tunnel ids",
            why=f"a VNI has 24 bits: ids go from 1 to {MAX_TUNNEL_ID}, the lower end first",
            remedy="write a range such as 1-65535",
        )
    elif high - low >= MOST_TUNNEL_IDS:
        yield error("tunnel-id-range-too-large", "ovn.tunnel_ids")(
            what=f"{high - low + 1} tunnel ids",
            why="Neutron writes a row for each before it serves, and each process holds all of them: gigabytes",
            remedy=f"write at most {MOST_TUNNEL_IDS}, one a tenants' network, such as 1-65536",
        )
    cni = context.plan.kubernetes.cni
    if low <= 1 <= high and cni.backend == "vxlan" and cni.name == "flannel" and _cni_meets_tunnels(context):
        yield info("tunnel-id-collision", "ovn.tunnel_ids", "kubernetes.cni_backend")(
            what="flannel's VXLAN uses id 1, which is in the tenants' range, on the same plane",
            why="their UDP ports differ (6081, 8472), so they do not meet; but a capture shows both as id 1",
            remedy="start ovn.tunnel_ids at 2 to tell them apart",
        )
    yield from _tunnel_ports(context)


def _tunnel_ports(context: PlanContext) -> Iterator[Finding]:
    """Yield a finding about hosts where pods' and tenants' tunnels need the same UDP port."""
    cni = context.plan.kubernetes.cni
    both = [host.name for host in context.layout.with_role("hypervisor") if host.node_labels]
    shown = ", ".join(both[:3]) + (", ..." if len(both) > 3 else "")
    if cni.port == OVN_PORT and context.site.ovn.tenant_network == "geneve" and both:
        yield error("tunnel-port-collision", "kubernetes.cni_backend", "ovn.tenant_network")(
            what=f"{cni.name} and OVN both want UDP port {OVN_PORT} for Geneve on {len(both)} hosts: {shown}",
            why="the kernel gives it to whoever comes first, and the other's tunnels stay down",
            remedy="write cni_backend: vxlan",
        )


def _cni_meets_tunnels(context: PlanContext) -> bool:
    """Say whether pods' and tenants' tunnels share a network: hypervisors without a tunnel network."""
    return bool(context.layout.with_role("hypervisor")) and not context.layout.by_purpose("tunnel")


def _mtus(context: PlanContext) -> Iterator[Finding]:
    ovn, layout = context.site.ovn, context.layout
    if ovn.tenant_network == "geneve" and layout.with_role("hypervisor"):
        if ovn.max_header_size < OVN_HEADER:
            yield error("geneve-header-too-small", "ovn.max_header_size")(
                what=f"{ovn.max_header_size} bytes do not hold a Geneve header with OVN's options",
                why="Neutron would hand out an MTU that is too large: small packets pass, large ones vanish",
                remedy=f"write {OVN_HEADER} or leave it out",
            )
        for network in carriers(layout):
            left = room(network, ovn.max_header_size)
            if ovn.tenant_mtu and ovn.tenant_mtu > left:
                yield error("mtu-below-encapsulation", "ovn.tenant_mtu", f"networks.{network.name}.mtu")(
                    what=f"tenants' packets of {ovn.tenant_mtu} bytes do not fit into {network.name}: {left} remain",
                    why="small packets pass and large ones vanish: ping works, TCP hangs",
                    remedy=f"write {network.name} mtu {ovn.tenant_mtu + network.mtu - left}, or ovn.tenant_mtu: {left}",
                )
            elif left < 1500 and not ovn.tenant_mtu and layout.profile.production:
                yield warning("tenant-mtu-below-1500", f"networks.{network.name}.mtu")(
                    what=f"tenants' networks get {left} bytes",
                    why="guests and pods in them that assume 1500 need fragmentation or lose packets",
                    remedy=f"write mtu {1500 + network.mtu - left} or more, if the switches carry it",
                )
    kubernetes = context.plan.kubernetes
    if kubernetes.cni.mtu < MIN_POD_MTU:
        network = layout.underlay
        yield error("mtu-below-encapsulation", f"networks.{network.name}.mtu", "kubernetes.cni")(
            what=f"pods get {kubernetes.cni.mtu} bytes: {network.mtu} less {kubernetes.cni.overhead} of encapsulation",
            why=f"less than {MIN_POD_MTU} bytes breaks software that relies on the least IPv6 allows",
            remedy=f"write mtu {MIN_POD_MTU + kubernetes.cni.overhead} or more, or cni_backend: host-gw",
        )
