"""Install OS packages; the package source decides their versions."""

from __future__ import annotations

from collections.abc import Iterable

from .._base.changes import Changes
from .._base.run import attempt
from . import apt


def installed(changes: Changes, names: Iterable[str]) -> bool:
    """Install those of ``names`` that are missing; return whether any was. Raises GroundupError."""
    missing = lacking(names)
    if missing and changes.add(f"install packages: {', '.join(missing)}"):
        apt.update()
        apt.install(missing)
    return bool(missing)


def lacking(names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that are not fully installed and configured."""
    if not (wanted := sorted(set(names))):
        return []
    known = attempt(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", "--", *wanted]).stdout.splitlines()
    return [name for name in wanted if f"{name} installed" not in known]
