"""Packages of the OS: there or not; their versions are the package mirror's matter."""

from __future__ import annotations

from collections.abc import Iterable

from .changes import Changes
from .commands import attempt, run

APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120")  # seconds to wait for another apt to end
STRICT = ("-o", "APT::Update::Error-Mode=any")  # else apt passes over a source that does not answer


def installed(changes: Changes, names: Iterable[str]) -> bool:
    """Install those of ``names`` that are missing; return whether any was. Raises HostError."""
    missing = [name for name in sorted(set(names)) if not present(name)]
    if missing and changes.add(f"packages: {', '.join(missing)}"):
        run(
            [*APT, *STRICT, "update"],
            remedy="check the host's package sources, or set hosts.packages_url in the site file",
        )
        run([*APT, "install", "--no-install-recommends", "--", *missing])
    return bool(missing)


def present(name: str) -> bool:
    """Return whether the package ``name`` is installed."""
    return attempt(["dpkg-query", "-W", "-f", "${db:Status-Status}", "--", name]).stdout.strip() == "installed"
