"""Packages of the OS: there or not; their versions are the package source's matter."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .._base.changes import Changes
from .._base.run import attempt, run

# apt's configuration for the packages of the seed, where the host takes them from there (`sources.Seed`).
OURS = Path("/etc/groundup/apt/apt.conf")
TIMEOUT = 600.0  # seconds
STRICT = ("-o", "APT::Update::Error-Mode=any")  # else apt passes over a source that does not answer
# A file of ours may be there before the package whose it is: it stays.
_KEEP = ("-o", "DPkg::Options::=--force-confdef", "-o", "DPkg::Options::=--force-confold")


def apt(*arguments: str) -> list[str]:
    """Return the command of apt-get that takes packages from where the host is to."""
    command = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120"]  # seconds to wait for another apt to end
    return [*command, *(("-c", str(OURS)) if OURS.exists() else ()), *arguments]


def installed(changes: Changes, names: Iterable[str]) -> bool:
    """Install those of ``names`` that are missing; return whether any was. Raises GroundupError."""
    missing = lacking(names)
    if missing and changes.add(f"install packages: {', '.join(missing)}"):
        run(
            apt(*STRICT, "update"),
            remedy="check the host's package sources, or set hosts.packages_url in the site file",
            timeout=TIMEOUT,
        )
        run(apt(*_KEEP, "install", "--no-install-recommends", "--", *missing), timeout=TIMEOUT)
    return bool(missing)


def lacking(names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that are not installed, whole and configured."""
    if not (wanted := sorted(set(names))):
        return []
    known = attempt(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", "--", *wanted]).stdout.splitlines()
    return [name for name in wanted if f"{name} installed" not in known]
