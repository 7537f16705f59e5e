"""Identities of discovered machines, stored beside their journals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..plan.platform.metal import to_discover
from ..plan.types import HostPlan, NetworkPlan, Plan
from .match import MachineIdentity


def identity_file(home: Path, host: str) -> Path:
    """Return the file of a machine's identity."""
    return home / f"{host}.identity.json"


def identity(home: Path, host: str) -> MachineIdentity | None:
    """Return a machine's identity, None when it was not discovered."""
    try:
        found = json.loads(identity_file(home, host).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return MachineIdentity(**{**found, "macs": tuple(found["macs"])})


def as_found(home: Path, host: HostPlan, networks: Mapping[str, NetworkPlan]) -> HostPlan:
    """Return ``host`` with what discovery found, and without links as long as nothing is known of its ports."""
    if found := identity(home, host.name):
        return found.of(host, networks)
    known = any(link.mac for link in host.links) or not to_discover(host, networks)
    return host if known else replace(host, links=())


def identities(home: Path, plan: Plan) -> dict[str, MachineIdentity]:
    """Return the identities of a site's discovered machines, by name."""
    return {name: found for name in plan.hosts if (found := identity(home, name))}
