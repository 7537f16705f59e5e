"""How old a host's packages are: what its sources offer that is newer, and of when its lists are. Changes nothing."""

from __future__ import annotations

import re
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from .._base import files
from .._base.run import attempt
from .._base.text import few
from . import apt, simulation, sources
from .sources import LISTS as SEED_LISTS

LISTS = Path("/var/lib/apt/lists")
STATUS = Path("/var/lib/dpkg/status")
RESTART = Path("/run/reboot-required")
DAYS = {"site": 30, "debian": 3}  # how old lists may be without a warning, by the site's choice
_SHOWN = 8
_DATE = re.compile(r"^Date: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """An installed package that a source offers newer."""

    package: str
    installed: str
    offered: str
    security: bool  # by a security suite


def outdated(text: str) -> list[Outdated]:
    """Return the upgrades in the output of ``apt-get --simulate upgrade``."""
    return [
        Outdated(package=one.package, installed=one.before, offered=one.after, security=one.security)
        for one in simulation.parse(text).changes
        if one.before
    ]


def read(choice: str) -> tuple[dict[str, Any], list[str]]:
    """Return what is known of the age of the host's packages, and warnings.

    A host that installs from the seed is asked for what the seed offers; else, or when it has lists of its own sources
    too, for what these offer.
    """
    seed = ["-c", str(apt.OURS)] if apt.OURS.exists() else []
    # The seed's repository carries the lock's date: there, count since it last brought something new.
    own, ours = _dated(LISTS), _time(SEED_LISTS) if seed and _listed(SEED_LISTS) else None
    said = [_simulated(options) for options, asked in (([], own), (seed, ours)) if asked]
    behind = [one for done in said for one in outdated(done.stdout)]
    broken = [
        f"apt cannot say what is newer: {few(done.stderr.splitlines(), most=2)}" for done in said if done.returncode
    ]
    # A package that both offer is told once, with the word of the host's own sources.
    unique = {one.package: one for one in reversed(behind)}
    lists = max((each for each in (own, ours) if each), default=None)
    changed = _time(STATUS)
    age = {
        "updates": choice,
        "snapshot": sources.snapshot(),
        "lists": lists and f"{lists:%Y-%m-%d %H:%M}Z",
        "changed": changed and f"{changed:%Y-%m-%d %H:%M}Z",
        "outdated": [asdict(unique[name]) for name in sorted(unique)],
        "restart_needed": RESTART.exists(),
    }
    return age, [*broken, *_warnings(choice, list(unique.values()), lists)]


def _warnings(choice: str, behind: list[Outdated], lists: datetime | None) -> list[str]:
    found, now = [], datetime.now(UTC)
    security = sorted(one.package for one in behind if one.security)
    if security:
        rest = f" and {len(security) - _SHOWN} more" if security[_SHOWN:] else ""
        found.append(
            f"{len(security)} packages lack a security update that the host's sources have: "
            f"{', '.join(security[:_SHOWN])}{rest}"
        )
    # A host that asked no source has nothing to be old: its packages are as they were installed (`changed`).
    if lists and (now - lists).days > DAYS[choice]:
        age = f"the newest list of packages is of {(now - lists).days} days ago"
        found.append(f"{age}: newer security updates are not known here (hosts.updates: {choice})")
    if not lists and choice == "debian":
        found.append("no list of packages was fetched: no security update can come (hosts.updates: debian)")
    if RESTART.exists():
        found.append("an upgraded package waits for the host's restart (/run/reboot-required)")
    return found


def _simulated(options: list[str]) -> subprocess.CompletedProcess[str]:
    return attempt(["apt-get", *options, "--simulate", "--quiet", "--ignore-hold", "--with-new-pkgs", "upgrade"])


def _dated(lists: Path) -> datetime | None:
    """Return the date of the newest list of packages, by its archive's own word; None without lists.

    Times of files say nothing: apt changes them also when no source answered.
    """
    texts = [files.read(path) or "" for path in lists.glob("*Release")] if _listed(lists) else []
    return max((parsedate_to_datetime(found[1]) for text in texts if (found := _DATE.search(text))), default=None)


def _listed(lists: Path) -> bool:
    return any(lists.glob("*_Packages*"))


def _time(path: Path) -> datetime | None:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.exists() else None
