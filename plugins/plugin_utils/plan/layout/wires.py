"""Links of a machine: ports, bonds, bridges, VLANs and routes from cabling and addresses, in order of creation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_interface

from ..model.machines import MachineGroup
from ..model.wiring import Wiring
from ..part_types import LinkPlan
from ..types import Finding, HostPlan, InterfacePlan, NetworkPlan
from . import wire_notes as notes
from .addresses import nth_of
from .context import Layout, Member

ANYWHERE = "0.0.0.0/0"
ON_LINK = ""  # in the place of a gateway: every address is on the link itself
CARRIER = "-wire"  # suffix of a port that carries a tagged network; the port is found by its MAC address


@dataclass(frozen=True, slots=True)
class Wired:
    """A machine's links, and its interfaces under their names on the machine."""

    interfaces: tuple[InterfacePlan, ...]
    links: tuple[LinkPlan, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Machine:
    """One machine while its links are assembled."""

    layout: Layout
    member: Member
    wiring: Wiring
    key: str  # key path of the wiring
    dark: bool  # installed by Ironic: the plan names its ports
    unseen: bool  # none of its MAC addresses is written
    links: dict[str, LinkPlan] = field(default_factory=dict)
    carriers: dict[str, str] = field(default_factory=dict)  # network -> link
    findings: list[Finding] = field(default_factory=list)

    @property
    def nics(self) -> dict[str, str]:
        return dict(self.member.own.nics) if self.member.own else {}

    def mac_of(self, name: str) -> str | None:
        """Return the MAC address of a port, or of the first port of a bond or bridge."""
        return next((mac for port in self.ports_of(name) if (mac := self.nics.get(port))), None)

    def ports_of(self, name: str) -> Iterator[str]:
        for member in self.members_of(name):
            yield from (member,) if not self.members_of(member) else self.members_of(member)
        if not self.members_of(name):
            yield name

    def members_of(self, name: str) -> list[str]:
        if name in self.wiring.bonds:
            return self.wiring.bonds[name].members
        return self.wiring.bridges[name].members if name in self.wiring.bridges else []

    def carry(self, interfaces: tuple[InterfacePlan, ...]) -> None:
        """Find the link of each network."""
        own = self.member.own.ports if self.member.own else {}
        tagged = []
        for one in interfaces:
            network, port = self.layout.networks[one.network], own.get(one.network)
            if one.network in self.wiring.networks:
                self.carriers[one.network] = self.wiring.networks[one.network]
            elif one.mac:
                self.carriers[one.network] = one.name + (CARRIER if network.vlan and one.address else "")
            elif port and port.interface and not network.vlan:
                self.carriers[one.network] = one.name
            elif network.vlan and not (self.unseen and network.purpose == "provisioning"):
                tagged.append(one.network)
        main = self.carriers.get(self.layout.management.name)
        if main:
            self.carriers |= dict.fromkeys(tagged, main)
        # A machine without a port on `provisioning` has a finding of its own, or is discovered.
        lost = [
            one.network
            for one in interfaces
            if one.network not in self.carriers and self.layout.networks[one.network].purpose != "provisioning"
        ]
        self.findings += [notes.no_port(self.member.key, self.member.name, network) for network in lost]

    def physical(self, name: str, mtu: int, *, mac: str | None, above: tuple[str, ...] = ()) -> None:
        """Add the link ``name`` and the links below it. ``above``: the links it is a member of."""
        known, members = self.links.get(name), self.members_of(name)
        mtu = max(mtu, known.mtu if known else 0)
        for one in members:
            if one in (*above, name) or members.count(one) > 1 or self.owner_of(one) not in (None, name):
                self.findings.append(notes.member_twice(self.key, one))
            else:
                self.physical(one, mtu, mac=None, above=(*above, name))
        bond = self.wiring.bonds.get(name)
        mac = mac or (known.mac if known else None) or self.mac_of(name)
        if bond:
            self.links[name] = LinkPlan(
                name=name, kind="bond", mtu=mtu, mac=mac, members=tuple(bond.members), mode=bond.mode,
                lacp_rate=(bond.lacp_rate or "slow") if bond.mode == "802.3ad" else None, primary=bond.primary,
            )  # fmt: skip
        elif members:
            self.links[name] = LinkPlan(name=name, kind="bridge", mtu=mtu, members=tuple(members))
        else:
            if self.nics and not mac and name not in self.nics:
                self.findings.append(notes.unknown_port(self.member.key, name, self.nics))
            rename = bool(mac) and not name.endswith(CARRIER) and (self.dark or name in self.nics)
            self.links[name] = LinkPlan(name=name, kind="port", mtu=mtu, mac=mac, rename=rename)

    def attach(self, one: InterfacePlan) -> InterfacePlan:
        """Put one network on its link. Return the interface with its name and MAC address there."""
        carrier = self.carriers[one.network]
        network = self.layout.networks[one.network]
        address = f"{one.address}/{one.prefix}" if one.address else None
        routes = self.routes(one)
        below = self.links[carrier]
        # Open vSwitch takes a port of its own whole, and tags there: other VLANs of tenants are on it, too.
        if network.vlan is None or (network.purpose == "provider" and [*self.carriers.values()].count(carrier) == 1):
            if below.network:
                self.findings.append(notes.untagged_twice(self.key, carrier, below.network, one.network))
            if owner := self.owner_of(carrier):
                self.findings.append(notes.network_on_member(self.key, one.network, carrier, owner))
            smaller = network.mtu if address and network.mtu < below.mtu else None
            self.links[carrier] = replace(below, network=one.network, address=address, routes=routes, route_mtu=smaller)
            return replace(one, name=carrier)
        self.links[one.name] = LinkPlan(
            name=one.name, kind="vlan", mtu=one.mtu, vlan=network.vlan, parent=carrier, network=one.network,
            address=address, routes=routes,
        )  # fmt: skip
        return one

    def owner_of(self, name: str) -> str | None:
        return next((link.name for link in self.links.values() if name in link.members), None)

    def routes(self, one: InterfacePlan) -> tuple[tuple[str, str], ...]:
        """Return the routes of a network: the default route, or those to other racks' subnets and to Services."""
        network = self.layout.networks[one.network]
        gateway = gateway_of(self.layout, one.network, self.member.rack)
        if not one.address:
            return ()
        if network is self.layout.management and network.gateway and gateway:
            return ((ANYWHERE, gateway),)
        found = ((network.cidr, gateway),) if gateway and self.layout.written[one.network].racks else ()
        return (*found, *services(self.layout)) if network is self.layout.management else found


def services(layout: Layout) -> tuple[tuple[str, str], ...]:
    """Return the route to Services of a host without a default route.

    The kernel wants a way to an address before kube-proxy puts a pod's in its place.
    """
    return ((layout.site.kubernetes.service_cidr, ON_LINK),)


def gateway_of(layout: Layout, network: str, rack: str) -> str | None:
    """Return the router of ``network`` for machines in ``rack``."""
    subnet = layout.written[network].racks.get(rack)
    return (subnet.gateway or nth_of(subnet.cidr, 1)) if subnet else layout.networks[network].gateway


def wire(
    layout: Layout, member: Member, group: MachineGroup, interfaces: tuple[InterfacePlan, ...], *, hardware: str,
    provisioner: str,
) -> Wired:  # fmt: skip
    """Return the links of ``member`` if the site manages its network. Faults become findings of ``layout``."""
    own, dark = member.own, provisioner == "ironic"
    if not dark and not (group.manage_network and provisioner == "existing"):
        return Wired(interfaces)
    profile = layout.hardware.get(hardware)
    ways = {
        f"{member.key}.wiring": own.wiring if own else None,
        f"machines.{member.group}.wiring": group.wiring,
        f"hardware.{hardware}.wiring": profile.wiring if profile else None,
    }
    key, wiring = next(((key, one) for key, one in ways.items() if one), (f"machines.{member.group}", Wiring()))
    unseen = dark and not (own and (own.nics or own.mac or any(port.mac for port in own.ports.values())))
    if unseen and wiring == Wiring():
        return Wired(interfaces)  # to be discovered: its ports are unknown until then (see `plain`)
    machine = _Machine(layout=layout, member=member, wiring=wiring, key=key, dark=dark, unseen=unseen)
    machine.findings += notes.unknown_networks(key, wiring.networks, layout.networks)
    machine.findings += notes.idle_bonds(key, wiring)
    machine.carry(interfaces)
    mtus: dict[str, int] = {}
    macs = {one.network: one.mac for one in interfaces}
    for network, carrier in machine.carriers.items():
        mtus[carrier] = max(mtus.get(carrier, 0), layout.networks[network].mtu)
    for network, carrier in sorted(machine.carriers.items(), key=lambda pair: not machine.members_of(pair[1])):
        machine.physical(carrier, mtus[carrier], mac=None if network in wiring.networks else macs[network])
    named = tuple(machine.attach(one) if one.network in machine.carriers else one for one in interfaces)
    for finding in machine.findings:
        _note(layout, finding)
    if not any(one.mac for one in named):
        boots = machine.carriers.get(layout.management.name, "")
        named = tuple(
            replace(one, mac=machine.mac_of(boots)) if one.network == layout.management.name else one for one in named
        )
    return Wired(named, tuple(machine.links.values()))


def tagged_by_hosts(hosts: Iterable[HostPlan], network: str) -> list[str]:
    """Return the hosts that make the VLAN of ``network`` on a link with other networks: no packet has a tag above."""
    return [host.name for host in hosts if any(link.vlan and link.network == network for link in host.links)]


def with_macs(links: Iterable[LinkPlan], macs: Mapping[str, str]) -> tuple[LinkPlan, ...]:
    """Return ``links`` with the MAC addresses that discovery found (``macs``: by port) where the site file has none."""
    found: dict[str, LinkPlan] = {}
    for link in links:
        if link.mac is None and link.kind == "port" and link.name in macs:
            found[link.name] = replace(link, mac=macs[link.name], rename=True)
        elif link.mac is None and link.kind == "bond":
            found[link.name] = replace(link, mac=next((found[one].mac for one in link.members if one in found), None))
        else:
            found[link.name] = link
    return tuple(found.values())


def plain(interfaces: tuple[InterfacePlan, ...], networks: Mapping[str, NetworkPlan]) -> tuple[LinkPlan, ...]:
    """Return the links of a discovered machine: one port per network, by the MAC addresses its ramdisk reported."""
    links = []
    for one in interfaces:
        if not one.mac:
            continue
        network = networks[one.network]
        address = f"{one.address}/{one.prefix}" if one.address else None
        near = one.address and network.gateway and ip_address(network.gateway) in ip_interface(str(address)).network
        routes = ((ANYWHERE, str(network.gateway)),) if near and network.purpose == "management" else ()
        port = LinkPlan(name=one.name, kind="port", mtu=one.mtu, mac=one.mac, rename=True)
        if network.vlan is None or not one.address:
            links.append(replace(port, network=one.network, address=address, routes=routes))
            continue
        wire = replace(port, name=one.name + CARRIER, rename=False)
        links += [wire, LinkPlan(
            name=one.name, kind="vlan", mtu=one.mtu, vlan=network.vlan, parent=wire.name, network=one.network,
            address=address, routes=routes,
        )]  # fmt: skip
    return tuple(links)


def _note(layout: Layout, finding: Finding) -> None:
    if finding not in layout.findings:
        layout.findings.append(finding)
