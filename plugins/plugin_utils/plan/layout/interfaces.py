"""Networks of a machine, by its roles, and its address on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...layers.purposes import PURPOSES
from ...layers.roles import ROLES, Role
from ..model.machines import MachineGroup
from ..model.networks import Network
from ..types import Finding, InterfacePlan, NetworkPlan
from .addresses import Share, shares, text
from .context import Layout, Member
from .notes import range_full
from .wire_notes import rack_without_subnet


@dataclass(slots=True, kw_only=True)
class NetworkAttachment:
    """One network as it applies to the machines of one group."""

    network: NetworkPlan
    share: Share
    interface: str
    prefix: int
    boots: bool  # whether the group's machines boot from it
    addressed: bool
    racks: dict[str, tuple[Share, int]] = field(default_factory=dict)  # share and prefix of each rack's subnet
    full: list[str] = field(default_factory=list)  # machines without an address: the share is full
    homeless: dict[str, list[str]] = field(default_factory=dict)  # rack without a subnet -> its machines

    def prefix_of(self, member: Member) -> int:
        """Return the prefix length of the member's subnet."""
        return self.racks[member.rack][1] if member.rack in self.racks else self.prefix

    def allot(self, member: Member) -> str | None:
        """Return the address for the member's number, or None. Records the member when its share or rack has none."""
        if member.number is None:
            return None
        if self.racks and member.rack not in self.racks:
            self.homeless.setdefault(member.rack, []).append(member.name)
            return None
        share, number = (self.racks[member.rack][0], member.in_rack) if self.racks else (self.share, member.number)
        address = share.nth(number or 0)
        if address is None:
            self.full.append(member.name)
            return None
        return text(address)


@dataclass(slots=True, kw_only=True)
class GroupPorts:
    """Allot the interfaces of one group's machines."""

    attachments: list[NetworkAttachment]
    oob: NetworkAttachment | None  # network of their management controllers
    management: str

    def of_member(self, member: Member) -> tuple[str, tuple[InterfacePlan, ...], str | None]:
        """Return the management address ("" if none), the interfaces, and the address of the controller, if any."""
        own = member.own
        main, interfaces = "", []
        for attachment in self.attachments:
            name = attachment.network.name
            port = own.ports.get(name) if own else None
            address = None
            if attachment.addressed:
                written = port.address if port else None
                if name == self.management and own:
                    written = written or own.address
                address = written or attachment.allot(member)
            if name == self.management:
                main = address or ""
            interfaces.append(
                InterfacePlan(
                    name=(port.interface if port else None) or attachment.interface,
                    network=name,
                    address=address,
                    prefix=attachment.prefix_of(member),
                    mtu=attachment.network.mtu,
                    mac=(port.mac if port else None) or (own.mac if own and attachment.boots else None),
                )
            )
        controller = self.oob.allot(member) if self.oob and not (own and own.bmc and own.bmc.address) else None
        return main, tuple(interfaces), controller

    def findings(self, key: str, role: Role) -> Iterator[Finding]:
        """Yield a finding for each network whose share is too small, or that lacks a rack's subnet, for the group."""
        for attachment in (*self.attachments, *([self.oob] if self.oob else [])):
            if attachment.full:
                yield range_full(key, attachment.network, role, attachment.share, attachment.full)
            yield from rack_without_subnet(key, attachment.network.name, attachment.homeless)


def interface_names(layout: Layout) -> dict[str, str]:
    """Return network -> interface name: as written, else by purpose and position."""
    counted: Counter[str] = Counter()
    names = {}
    for name, network in layout.networks.items():
        names[name] = (
            layout.written[name].interface or f"{PURPOSES[network.purpose].interface}{counted[network.purpose]}"
        )
        counted[network.purpose] += 1
    return names


def ports_of(layout: Layout, names: dict[str, str], roles: tuple[Role, ...], group: MachineGroup) -> GroupPorts:
    """Return the interface allotter of ``group``. ``names`` comes from `interface_names`."""
    with_bmc = group.bmc is not None or any(machine.bmc for machine in group.machines.values())
    reached = {purpose for role in roles for purpose in ROLES[role].networks} | (
        {"provisioning"} if with_bmc else set()
    )
    networks = [network for network in layout.networks.values() if network.purpose in reached]
    boot = next((network.name for network in networks if network.purpose == "provisioning"), layout.management.name)

    def attach(network: NetworkPlan) -> NetworkAttachment:
        return NetworkAttachment(
            network=network,
            share=layout.shares[network.name][roles[0]],
            interface=names[network.name],
            prefix=int(network.cidr.partition("/")[2]),
            boots=network.name == boot,
            addressed=PURPOSES[network.purpose].addressed,
            racks={
                rack: (shares(Network(cidr=subnet.cidr))[roles[0]], int(subnet.cidr.partition("/")[2]))
                for rack, subnet in layout.written[network.name].racks.items()
            },
        )

    oob = layout.by_purpose("oob")
    return GroupPorts(
        attachments=[attach(network) for network in networks],
        oob=attach(oob[0]) if oob and with_bmc else None,
        management=layout.management.name,
    )
