"""Cabling of hosts whose network the site manages, and networks with a subnet per rack."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from ...layers.purposes import PURPOSES
from ..form import choose, error, warning
from ..layout.context import PlanContext
from ..layout.wire_notes import unmanaged
from ..layout.wires import tagged_by_hosts
from ..model.networks import Network
from ..types import Finding

LARGEST = 9216  # payload of a frame, bytes, that common switches forward
TAG = 4  # bytes of an 802.1Q tag


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about cabling and about subnets by rack."""
    provisioners = {host.group: host.provisioner for host in context.plan.hosts.values()}
    for name, group, _ in context.layout.groups():
        if found := unmanaged(name, group, provisioners.get(name, "existing")):
            yield found
    yield from _tags(context)
    yield from _switches(context)
    yield from _provider_tags(context)
    for name, network in context.layout.written.items():
        if network.racks:
            yield from _subnets(context, name, network)
            yield from _users(context, name)


def _tags(context: PlanContext) -> Iterator[Finding]:
    for network in context.plan.networks.values():
        if network.vlan and network.mtu > LARGEST - TAG:
            yield warning("vlan-mtu-no-room-for-tag", f"networks.{network.name}.mtu")(
                what=f"{network.name} has mtu {network.mtu}, and each frame {TAG} bytes more for its VLAN tag",
                why=f"switches commonly carry {LARGEST} bytes: whole packets vanish, small ones pass",
                remedy=f"write at most {LARGEST - TAG}, or leave out the vlan",
            )


def _switches(context: PlanContext) -> Iterator[Finding]:
    """Yield hardware of hypervisors whose addresses two programs would manage: systemd-networkd and Open vSwitch."""
    for kind, compute in context.plan.hypervisor.compute.items():
        hosts = [one.name for one in context.layout.with_role("hypervisor") if one.hardware == kind and one.links]
        if hosts and compute["datapath"] != "system":
            yield error("datapath-takes-addresses", f"hardware.{kind}.compute.datapath")(
                what=f"Open vSwitch of {hosts[0]} takes the tunnels' address to a bridge, and systemd-networkd back",
                why="tunnels would lose their address at each change of the network",
                remedy="write datapath: system, or leave the network of these machines alone",
            )


def _provider_tags(context: PlanContext) -> Iterator[Finding]:
    """Yield provider networks whose VLAN hosts have on a shared link while others leave it, or more VLANs, to OVS."""
    hosts = context.layout.with_role("hypervisor")
    for network in context.layout.by_purpose("provider"):
        tagged = tagged_by_hosts(hosts, network.name)
        others = [host.name for host in hosts if host.name not in tagged]
        if tagged and others:
            yield error("provider-tagged-twice", f"networks.{network.name}.vlan")(
                what=f"{tagged[0]} has VLAN {network.vlan} on a link with other networks, and {others[0]} leaves it to "
                "Open vSwitch",
                why="Neutron has one kind of the network: on some hypervisors packets would have two tags, or none",
                remedy=f"give {network.name} a port or bond of its own on all hypervisors (wiring.networks), or none",
            )
        if tagged and context.layout.written[network.name].vlan_range:
            yield error("vlan-range-on-shared-link", f"networks.{network.name}.vlan_range")(
                what=f"{tagged[0]} has {network.name} as a VLAN on a link with other networks",
                why="tenants' VLANs would be inside that VLAN, which no switch expects",
                remedy=f"write a port or bond of its own for {network.name} into wiring.networks, or leave vlan_range "
                "out",
            )


def _subnets(context: PlanContext, name: str, network: Network) -> Iterator[Finding]:
    plane, key = IPv4Network(network.cidr), f"networks.{name}.racks"
    parsed = {rack: IPv4Network(subnet.cidr) for rack, subnet in network.racks.items()}
    known = {member.rack for member in context.layout.members} | set(context.site.racks)
    for rack, subnet in parsed.items():
        gateway = network.racks[rack].gateway
        if rack not in known:
            yield error("rack-subnet-unknown-rack", f"{key}.{rack}")(
                what=f"the site has no rack {rack}",
                why="nobody would be on that subnet",
                remedy=choose(rack, sorted(known)),
            )
        if not subnet.subnet_of(plane):
            yield error("rack-subnet-outside-plane", f"{key}.{rack}.cidr", f"networks.{name}.cidr")(
                what=f"{subnet} is not inside {plane}",
                why=f"hosts of other racks have one route, to {plane}: they would not find it",
                remedy=f"write a part of {plane}, or a wider networks.{name}.cidr",
            )
        if gateway and IPv4Address(gateway) not in subnet:
            yield error("rack-gateway-outside-subnet", f"{key}.{rack}.gateway")(
                what=f"{gateway} is not inside {subnet}",
                why="the rack's machines could not reach their router, and no other rack",
                remedy=f"write an address from {subnet[1]} to {subnet[-2]}",
            )
    for (one, first), (other, second) in combinations(parsed.items(), 2):
        if first.overlaps(second):
            yield error("rack-subnets-overlap", f"{key}.{one}.cidr", f"{key}.{other}.cidr")(
                what=f"{first} of {one} and {second} of {other} share addresses",
                why="leaves would announce one address from two racks",
                remedy="write subnets that do not meet",
            )
    if network.ranges:
        yield error("rack-subnets-with-ranges", f"networks.{name}.ranges", key)(
            what=f"{name} has ranges for the whole plane beside subnets by rack",
            why="a machine's address is inside its rack's subnet, each of which is shared out to the roles",
            remedy="leave out the ranges; write single machines' addresses where they differ",
        )


def _users(context: PlanContext, name: str) -> Iterator[Finding]:
    plan, key = context.plan, f"networks.{name}.racks"
    purpose = plan.networks[name].purpose
    if not PURPOSES[purpose].addressed or purpose == "oob":
        yield error("rack-subnets-unsupported", key)(
            what=f"{name} is a {purpose} network: its addresses are not those of hosts",
            why="subnets by rack would have no effect",
            remedy="leave them out",
        )
    made = [host.name for host in plan.hosts.values() if host.provisioner == "container"]
    if made:
        yield error("rack-subnets-unsupported", key)(
            what=f"{made[0]} is a system container, whose networks are one bridge each",
            why="nothing on this machine routes between subnets of racks",
            remedy="leave out the subnets in a lab",
        )
    if plan.networks[name] is not context.layout.management:
        return
    racks = {plan.hosts[host].rack for host in plan.edge.hosts}
    if len(racks) > 1:
        yield error("virtual-ip-across-racks", "machines", key)(
            what=f"control hosts stand in {', '.join(sorted(racks))}, each with a subnet of its own",
            why="the virtual IP moves within one segment: in another rack nobody would find it",
            remedy=f"put them into one rack, or give their racks one segment on {name}",
        )
    if plan.kubernetes.cni.backend == "host-gw":
        yield error("host-gw-across-racks", "kubernetes.cni_backend", key)(
            what="pods' packets take plain routes between nodes, and racks have subnets of their own",
            why="a node is no next hop for a node behind a router: pods of two racks could not speak",
            remedy="write cni_backend: vxlan",
        )
