"""The table of machine sizes in the page about existing hosts: by role and profile, from what preflight compares."""

from __future__ import annotations

from pathlib import Path

from ...layers.layers import LAYERS
from ...layers.page import HOSTS_PAGE, with_table
from ...layers.roles import ROLES, Role
from ..layout.profiles import HARDWARE

PAGE = HOSTS_PAGE
PROFILES = ("edge", "region")  # those whose machines somebody buys


def page(root: Path) -> str:
    """Return the page with a fresh table."""
    return with_table((root / PAGE).read_text(encoding="utf-8"), "sizes", table())


def table() -> str:
    """Return the table, Markdown."""
    lines = [f"| role | {' | '.join(PROFILES)} | room, GiB |", "|---|" + "---|" * (len(PROFILES) + 1)]
    for role in ROLES:
        machines = " | ".join(_machine(role, profile) for profile in PROFILES)
        lines.append(f"| {role} | {machines} | {_room(role)} |")
    return "".join(f"{line}\n" for line in lines)


def _machine(role: Role, profile: str) -> str:
    has = HARDWARE[ROLES[role].hardware[profile]]
    disk = ", NVMe" if has.nvme else ""
    return f"{has.cores} cores, {has.memory_gb} GiB, {has.nic_gbps} Gbit/s{disk}"


def _room(role: Role) -> str:
    """Return what the layers write on a machine with this role alone, by directory."""
    sets = [one for layer in LAYERS.values() for one in layer.installs if one.fits((role,), node=ROLES[role].node)]
    return ", ".join(f"{gib} `{place}`" for one in sets for place, gib in one.space.items())
