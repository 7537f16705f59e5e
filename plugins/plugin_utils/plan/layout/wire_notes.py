"""Findings about cabling, collected while machines are laid out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..form import choose, error, warning
from ..model.machines import MachineGroup
from ..model.wiring import Wiring
from ..types import Finding


def no_port(key: str, machine: str, network: str) -> Finding:
    """Return the finding about a network of a managed machine without a port."""
    return error("network-without-port", f"{key}.ports.{network}")(
        what=f"nothing says which port of {machine} is on {network}",
        why="its first boot and the host layer would leave that network out",
        remedy=f"write ports.{network}.mac of the machine, or {network} into its group's wiring.networks; a network "
        "with a vlan needs neither",
    )


def unknown_networks(key: str, written: Iterable[str], known: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for each network in a wiring that the site does not have."""
    known = list(known)
    for name in written:
        if name not in known:
            yield error("wiring-unknown-network", f"{key}.networks.{name}")(
                what=f"the site has no network {name}",
                why="what is written there would have no effect",
                remedy=choose(name, known),
            )


def idle_bonds(key: str, wiring: Wiring) -> Iterator[Finding]:
    """Yield a finding for each bond that carries no network: mostly its name is written another way there."""
    used = {*wiring.networks.values(), *(port for bridge in wiring.bridges.values() for port in bridge.members)}
    ports = {port for bond in wiring.bonds.values() for port in bond.members}
    others = {
        net: link for net, link in wiring.networks.items() if link not in {*wiring.bonds, *wiring.bridges, *ports}
    }
    for name in wiring.bonds:
        if name not in used:
            taken = "".join(f"; {link} of {net} is neither bond nor bridge, but a port" for net, link in others.items())
            yield warning("bond-without-network", f"{key}.bonds.{name}")(
                what=f"no network is on {name}, and no bridge has it{taken}",
                why="its ports would be bonded for nobody",
                remedy=f"write {key}.networks: {{<network>: {name}}}, or leave the bond out",
            )


def unknown_port(key: str, name: str, known: Iterable[str]) -> Finding:
    """Return the finding about a port in the wiring that is missing in the machine's `nics`."""
    return error("wiring-unknown-port", f"{key}.nics")(
        what=f"the wiring names the port {name}, and the machine's nics do not",
        why="a port that is not found leaves its bond and networks without a link",
        remedy=choose(name, known),
    )


def member_twice(key: str, name: str) -> Finding:
    """Return the finding about a port in two bonds or bridges."""
    return error("wiring-member-twice", key)(
        what=f"{name} is in two bonds or bridges, or in itself",
        why="the kernel gives a port one master: the other would be short of it, or the host off the network",
        remedy="keep it in one of them",
    )


def network_on_member(key: str, network: str, port: str, owner: str) -> Finding:
    """Return the finding about a network on a port that belongs to a bond or bridge."""
    return error("wiring-network-on-member", f"{key}.networks.{network}")(
        what=f"{network} is on {port}, which is a member of {owner}",
        why="a member passes all packets to its master: the address would answer nobody",
        remedy=f"write {network}: {owner}",
    )


def untagged_twice(key: str, link: str, one: str, other: str) -> Finding:
    """Return the finding about two untagged networks on one link."""
    return error("untagged-twice", f"{key}.networks", f"networks.{one}.vlan", f"networks.{other}.vlan")(
        what=f"{one} and {other} are both without a VLAN on {link}",
        why="they would be one segment, and the second takes the first one's address",
        remedy=f"write networks.{other}.vlan, or another link for it",
    )


def unmanaged(name: str, group: MachineGroup, provisioner: str) -> Finding | None:
    """Return the finding about cabling, or `manage_network`, for machines whose network the site does not manage."""
    if provisioner == "ironic" or (provisioner == "existing" and group.manage_network):
        return None
    if group.manage_network:
        return error("network-not-managed", f"machines.{name}.manage_network")(
            what=f"machines of provisioner {provisioner} get their network where they are made",
            why="two owners of one network take it from each other",
            remedy="leave manage_network out",
        )
    if group.wiring or any(machine.wiring or machine.nics for machine in group.machines.values()):
        return warning("wiring-unused", f"machines.{name}")(
            what="cabling is written for machines whose network the site leaves alone",
            why="bonds and VLANs stay as they are",
            remedy=f"write machines.{name}.manage_network: true, or leave the cabling out",
        )
    return None


def rack_without_subnet(key: str, network: str, racks: Mapping[str, list[str]]) -> Iterator[Finding]:
    """Yield a finding for each of ``racks`` (rack -> machines) that has no subnet on a network with subnets by rack."""
    for rack, machines in racks.items():
        yield error("rack-without-subnet", f"networks.{network}.racks", key)(
            what=f"{machines[0]} stands in {rack}, and {network} has no subnet there",
            why="its address would be in another rack's segment",
            remedy=f"write networks.{network}.racks.{rack}: {{cidr: ...}}",
        )
