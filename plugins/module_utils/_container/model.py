"""Read the part of the plan that a lab needs (``groundup_site.networks``, ``groundup_host``)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from ipaddress import ip_interface
from typing import Any

from .._base.errors import GroundupError
from .._plan.container import InterfacePlan, NetworkPlan, WiredHost
from .._plan.decode import from_dict

# Networks with a userspace switch: it would lose checksums that the kernel leaves to a network card.
UNOFFLOADED = frozenset({"tunnel", "provider"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface(InterfacePlan):
    """A host's interface on a network: a veth pair."""

    gateway: str | None  # default route of the host, on one interface at most
    offload: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabHost(WiredHost):
    """A machine: a container."""

    interfaces: tuple[Interface, ...]

    def wiring(self) -> str:
        """Return a digest of the host's network connections; a running host with another digest is restarted."""
        connected = {name: value for name, value in asdict(self).items() if name != "roles"}
        return hashlib.sha256(json.dumps(connected, sort_keys=True).encode()).hexdigest()


def networks_of(plan: Mapping[str, Any]) -> dict[str, NetworkPlan]:
    """Read the plan's ``networks``. Raises OptionError."""
    return {name: from_dict(NetworkPlan, network, f"networks.{name}") for name, network in plan.items()}


def hosts_of(plan: Sequence[Mapping[str, Any]], networks: Mapping[str, NetworkPlan]) -> list[LabHost]:
    """Read the plan's hosts. Raises OptionError, and GroundupError when one is on a network that the site lacks."""
    return [_host(from_dict(WiredHost, host, f"hosts.{host.get('name', '?')}"), networks) for host in plan]


def _host(plan: WiredHost, networks: Mapping[str, NetworkPlan]) -> LabHost:
    where = f"hosts.{plan.name}"
    interfaces = tuple(_interface(item, networks, f"{where}.interfaces") for item in plan.interfaces)
    if plan.address not in {interface.address for interface in interfaces}:
        raise _wrong(f"no interface carries the host's address {plan.address}", where)
    return LabHost(name=plan.name, fqdn=plan.fqdn, address=plan.address, interfaces=interfaces, roles=plan.roles)


def _interface(plan: InterfacePlan, networks: Mapping[str, NetworkPlan], where: str) -> Interface:
    network = networks.get(plan.network)
    if network is None:
        raise _wrong(f"{plan.name} is on network {plan.network!r}, which the site does not have", where)
    if plan.address:
        ip_interface(f"{plan.address}/{plan.prefix}")
    routed = network.purpose == "management" and bool(plan.address)
    gateway = network.gateway if routed else None
    return Interface(**asdict(plan), gateway=gateway, offload=network.purpose not in UNOFFLOADED)


def _wrong(what: str, where: str) -> GroundupError:
    return GroundupError(
        f"{where}: {what}",
        where=where,
        why="a container is wired by these fields",
        remedy="pass the plan as the inventory plugin gives it",
    )
