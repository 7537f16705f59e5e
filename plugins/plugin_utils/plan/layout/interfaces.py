"""Which networks a machine is on, by its roles, and its address on each."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...layers.purposes import PURPOSES, Purpose
from ...layers.roles import ROLES, Role
from ..model.machines import MachineGroup, Port
from ..types import Finding, InterfacePlan, NetworkPlan
from .addresses import Share, text
from .context import Layout, Member
from .notes import range_full


@dataclass(slots=True)
class NetworkAttachment:
    """One network as a group's machines see it."""

    network: NetworkPlan
    share: Share
    interface: str
    prefix: int
    boots: bool
    addressed: bool
    full: list[str] = field(default_factory=list)  # machines that found no address


class GroupPorts:
    """Hands out the interfaces of one group's machines."""

    def __init__(
        self,
        attachments: list[NetworkAttachment],
        oob: NetworkAttachment | None,
        management: str,
        role: Role,
        group_key: str,
    ) -> None:
        self._attachments, self._oob, self._management, self._role, self._key = (
            attachments,
            oob,
            management,
            role,
            group_key,
        )

    def of_member(self, member: Member) -> tuple[str, tuple[InterfacePlan, ...], str | None]:
        """Return the management address ("" without one), the interfaces, and the address of the controller, if any."""
        own = member.own
        interfaces = []
        main = ""
        for attachment in self._attachments:
            port = own.ports.get(attachment.network.name) if own else None
            address = self._address(attachment, member, port) if attachment.addressed else None
            if attachment.network.name == self._management:
                main = address or ""
            mac = (port.mac if port else None) or (own.mac if own and attachment.boots else None)
            interfaces.append(
                InterfacePlan(
                    name=(port.interface if port else None) or attachment.interface,
                    network=attachment.network.name,
                    address=address,
                    prefix=attachment.prefix,
                    mtu=attachment.network.mtu,
                    mac=mac,
                )
            )
        controller = self._allot(self._oob, member) if self._oob and not (own and own.bmc and own.bmc.address) else None
        return main, tuple(interfaces), controller

    def _address(self, attachment: NetworkAttachment, member: Member, port: Port | None) -> str | None:
        if port and port.address:
            return port.address
        if attachment.network.name == self._management and member.own and member.own.address:
            return member.own.address
        return self._allot(attachment, member)

    def _allot(self, attachment: NetworkAttachment, member: Member) -> str | None:
        if member.number is None:
            return None
        address = attachment.share.nth(member.number)
        if address is None:
            attachment.full.append(member.name)
            return None
        return text(address)

    def findings(self) -> list[Finding]:
        """Return one finding for each network whose share is too small for the group."""
        attachments = [*self._attachments, *([self._oob] if self._oob else [])]
        return [
            range_full(self._key, attachment.network, self._role, attachment.share, attachment.full)
            for attachment in attachments
            if attachment.full
        ]


class Ports:
    """Knows the networks of a site, and which of them a group's machines are on."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._names: dict[str, str] = {}
        counted: dict[Purpose, int] = {}
        for name, network in layout.networks.items():
            position = counted.get(network.purpose, 0)
            counted[network.purpose] = position + 1
            self._names[name] = layout.written[name].interface or f"{PURPOSES[network.purpose].interface}{position}"

    def of_group(self, key: str, roles: tuple[Role, ...], group: MachineGroup) -> GroupPorts:
        """Return what hands out the interfaces of ``group``, whose key path is ``key``."""
        layout, role = self._layout, roles[0]
        with_bmc = group.bmc is not None or any(machine.bmc for machine in group.machines.values())
        reached = frozenset[Purpose]().union(*(ROLES[role].networks for role in roles))
        networks = [
            n for n in layout.networks.values() if n.purpose in reached or (n.purpose == "provisioning" and with_bmc)
        ]
        boot = next((n.name for n in networks if n.purpose == "provisioning"), layout.management.name)
        attachments = [self._attach(n, role, boots=n.name == boot) for n in networks]
        oob = layout.by_purpose("oob")
        return GroupPorts(
            attachments,
            self._attach(oob[0], role, boots=False) if oob and with_bmc else None,
            layout.management.name,
            role,
            key,
        )

    def _attach(self, network: NetworkPlan, role: Role, *, boots: bool) -> NetworkAttachment:
        return NetworkAttachment(
            network=network,
            share=self._layout.shares[network.name][role],
            interface=self._names[network.name],
            prefix=int(network.cidr.partition("/")[2]),
            boots=boots,
            addressed=PURPOSES[network.purpose].addressed,
        )
