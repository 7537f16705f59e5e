"""Compare a machine's ports with the cabling that the site file writes for it: ports by name, bonds, bridges. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...module_utils._base.text import few, printable
from ..plan.part_types import LinkPlan
from ..plan.types import HostPlan, Plan
from .sighting import Nic, Sighting


def lacking_ports(host: HostPlan, one: Sighting) -> Iterator[str]:
    """Yield each port of the cabling of ``host`` that ``one`` lacks, with its bond and what ``one`` has."""
    told = {port.mac for port in host.interfaces}
    for link in host.links:
        found = _nics(link, one)
        if link.kind != "port" or len(found) == 1 or (link.mac and link.mac in told):
            continue  # it is there, or is compared as the port of a network
        owner = next((other.name for other in host.links if link.name in other.members), link.network or "a VLAN")
        port = f"{link.name} of {owner}" + (f" with {link.mac}" if link.mac else "")
        has = [f"{printable(nic.name)[:32]} {nic.mac}" for nic in one.nics]
        has += [f"{printable(nic.name)[:32]} ({nic.odd})" for nic in one.odd]
        yield f"{f'{len(found)} ports' if found else 'no port'} {port} (its ports: {few(has, most=8) or 'none'})"


def nics_of(host: HostPlan, one: Sighting) -> dict[str, str]:
    """Return the MAC address of each port that the cabling of ``host`` names, by its name there."""
    ports = [link for link in host.links if link.kind == "port"]
    return {link.name: nic.mac for link in ports for nic in _nics(link, one)}


def contradiction(plan: Plan, host: HostPlan, one: Sighting) -> str:
    """Return why the port that ``one`` boots from, or its cables, contradict the cabling of ``host``; "" if not."""
    links = {link.name: link for link in host.links}
    boots = ""  # the port, bond or bridge with the provisioning network
    carriers: dict[str, list[Nic]] = {}
    for link in host.links:
        if link.network:
            carrier = link.parent or link.name
            carriers[carrier] = [nic for port in _ports(links, carrier) for nic in _nics(port, one)]
            boots = carrier if plan.networks[link.network].purpose == "provisioning" else boots
    for name, nics in carriers.items():
        ports = f"{name} ({few([port.name for port in _ports(links, name)])})"
        booted = next((f"{printable(nic.name)[:32]} {nic.mac}" for nic in nics if nic.mac == one.boots), "")
        if name == boots and not booted:
            return f"it boots from {one.boots}, and the cabling has the provisioning network on {ports}"
        if not boots and booted:
            return f"it boots from {booted}, a port of {ports}, and the cabling has no provisioning network there"
        if not any(nic.carrier for nic in nics):
            return f"no port of {ports} has a cable"
    return ""


def _nics(link: LinkPlan, one: Sighting) -> list[Nic]:
    """Return the ports of ``one`` that ``link`` is: by MAC address, else by the name that it has."""
    return [nic for nic in one.nics if (nic.mac == link.mac if link.mac else nic.name == link.name)]


def _ports(links: dict[str, LinkPlan], name: str) -> list[LinkPlan]:
    """Return the ports below the link ``name``, or the port that it is."""
    link = links[name]
    return [port for one in link.members for port in _ports(links, one)] if link.members else [link]
