"""Packages of the OS: there or not; their versions are the package mirror's matter."""

from __future__ import annotations

from collections.abc import Iterable

from .._base.changes import Changes
from .._base.run import attempt, run

APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120")  # seconds to wait for another apt to end
TIMEOUT = 600.0  # seconds
STRICT = ("-o", "APT::Update::Error-Mode=any")  # else apt passes over a source that does not answer


def installed(changes: Changes, names: Iterable[str]) -> bool:
    """Install those of ``names`` that are missing; return whether any was. Raises GroundupError."""
    if not (wanted := sorted(set(names))):
        return False
    known = attempt(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", "--", *wanted]).stdout.splitlines()
    missing = [name for name in wanted if f"{name} installed" not in known]
    if missing and changes.add(f"install packages: {', '.join(missing)}"):
        run(
            [*APT, *STRICT, "update"],
            remedy="check the host's package sources, or set hosts.packages_url in the site file",
            timeout=TIMEOUT,
        )
        run([*APT, "install", "--no-install-recommends", "--", *missing], timeout=TIMEOUT)
    return bool(missing)
