"""Read what apt says it would do."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Also where a killed upgrade left a package without what it needs: else apt says no more than that.
UPGRADE = ("--fix-broken", "dist-upgrade")
# "Inst NAME [INSTALLED] (OFFERED LABEL:VERSION/SUITE, ... [ARCHITECTURE])"; what is not installed has no [INSTALLED].
_INSTALLED = re.compile(r"^Inst (\S+) (?:\[([^\]]+)\] )?\((\S+) ?([^\[)]*)", re.M)
_REMOVED = re.compile(r"^(?:Remv|Purg) (\S+)", re.M)
_KEPT = re.compile(r"^The following packages have been kept back:\n((?: .*\n)+)", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageChange:
    """A package that apt would install or upgrade."""

    package: str
    before: str  # version; empty: it is not installed
    after: str
    security: bool  # from a security suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What apt would do."""

    changes: list[PackageChange]
    removed: list[str]
    kept: list[str]  # have a newer version, and are held or would need what cannot be installed


def parse(text: str) -> Simulation:
    """Return what the output of ``apt-get --simulate`` says."""
    kept = _KEPT.search(text)
    return Simulation(
        changes=[
            PackageChange(package=name, before=before, after=after, security="security" in origin.lower())
            for name, before, after, origin in _INSTALLED.findall(text)
        ],
        removed=_REMOVED.findall(text),
        kept=kept[1].split() if kept else [],
    )
