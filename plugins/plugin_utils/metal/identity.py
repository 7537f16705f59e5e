"""What discovered machines were found to be, kept beside their journals."""

from __future__ import annotations

import json
from pathlib import Path

from ..plan.types import Plan
from .match import Identity


def identity_file(home: Path, host: str) -> Path:
    """Return where a machine's identity is kept."""
    return home / f"{host}.identity.json"


def identity(home: Path, host: str) -> Identity | None:
    """Return what a machine was found to be, None when it was not discovered."""
    try:
        found = json.loads(identity_file(home, host).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Identity(**{**found, "macs": tuple(found["macs"])})


def identities(home: Path, plan: Plan) -> dict[str, Identity]:
    """Return what the machines of a site were found to be, by name."""
    return {name: found for name in plan.hosts if (found := identity(home, name))}
