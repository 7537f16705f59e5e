"""Read the part of the plan that a lab needs (``groundup_site.networks``, ``groundup_host``)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from ipaddress import ip_interface
from typing import Any

from .._base.errors import GroundupError

# Networks with a userspace switch: it would lose checksums that the kernel leaves to a network card.
UNOFFLOADED = frozenset({"tunnel", "provider"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LabNetwork:
    """A network: a bridge."""

    name: str
    purpose: str
    cidr: str
    gateway: str | None  # this machine's address on the bridge
    mtu: int

    @property
    def gateway_interface(self) -> str | None:
        """The gateway with its prefix length: ``10.90.0.1/24``."""
        return f"{self.gateway}/{self.cidr.partition('/')[2]}" if self.gateway else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """A host's interface on a network: a veth pair."""

    name: str
    network: str
    address: str | None
    prefix: int
    mtu: int
    mac: str | None
    gateway: str | None  # default route of the host, on one interface at most
    offload: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabHost:
    """A machine: a container."""

    name: str
    fqdn: str
    address: str
    interfaces: tuple[Interface, ...]

    def wiring(self) -> str:
        """Return a digest of the host's network connections; a running host with another digest is restarted."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def networks_of(plan: Mapping[str, Mapping[str, Any]]) -> dict[str, LabNetwork]:
    """Read the plan's ``networks``. Raises GroundupError."""
    fields = ("name", "purpose", "cidr", "gateway", "mtu")
    return {name: LabNetwork(**_fields(network, fields, f"networks.{name}")) for name, network in plan.items()}


def hosts_of(plan: Sequence[Mapping[str, Any]], networks: Mapping[str, LabNetwork]) -> list[LabHost]:
    """Read the plan's hosts. Raises GroundupError when one has no network, or one that the site lacks."""
    return [_host(host, networks) for host in plan]


def _host(plan: Mapping[str, Any], networks: Mapping[str, LabNetwork]) -> LabHost:
    where = f"hosts.{plan.get('name', '?')}"
    found = _fields(plan, ("name", "fqdn", "address", "interfaces"), where)
    interfaces = tuple(_interface(item, networks, f"{where}.interfaces") for item in found["interfaces"])
    if found["address"] not in {interface.address for interface in interfaces}:
        raise _wrong(f"no interface carries the host's address {found['address']}", where)
    return LabHost(name=found["name"], fqdn=found["fqdn"], address=found["address"], interfaces=interfaces)


def _interface(plan: Mapping[str, Any], networks: Mapping[str, LabNetwork], where: str) -> Interface:
    found = _fields(plan, ("name", "network", "address", "prefix", "mtu", "mac"), where)
    network = networks.get(found["network"])
    if network is None:
        raise _wrong(f"{found['name']} is on network {found['network']!r}, which the site does not have", where)
    if found["address"]:
        ip_interface(f"{found['address']}/{found['prefix']}")
    routed = network.purpose == "management" and bool(found["address"])
    return Interface(**found, gateway=network.gateway if routed else None, offload=network.purpose not in UNOFFLOADED)


def _fields(plan: Mapping[str, Any], names: Sequence[str], where: str) -> dict[str, Any]:
    missing = [name for name in names if name not in plan]
    if missing:
        raise _wrong(f"the plan lacks {', '.join(missing)}", where)
    return {name: plan[name] for name in names}


def _wrong(what: str, where: str) -> GroundupError:
    return GroundupError(
        f"{where}: {what}",
        where=where,
        why="a container is wired by these fields",
        remedy="pass the plan as the inventory plugin gives it",
    )
