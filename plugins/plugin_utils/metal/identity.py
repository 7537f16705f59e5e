"""Identities of discovered machines, stored beside their journals."""

from __future__ import annotations

import json
from pathlib import Path

from ..plan.types import Plan
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


def identities(home: Path, plan: Plan) -> dict[str, MachineIdentity]:
    """Return the identities of a site's discovered machines, by name."""
    return {name: found for name in plan.hosts if (found := identity(home, name))}
