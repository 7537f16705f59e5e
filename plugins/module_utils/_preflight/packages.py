"""dpkg and apt: nothing half done from before."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from .model import Fault, Machine, Wanted

_STATES = re.compile(r"^Package: (\S+)\n(?:\S.*\n| .*\n)*?Status: \S+ (\S+) (\S+)$", re.MULTILINE)
_WHOLE = ("installed", "config-files", "not-installed")


def check(machine: Machine, wanted: Wanted) -> Iterator[Fault]:
    """Yield packages that are half installed, and updates dpkg has not written down."""
    if not machine.has("/usr/bin/dpkg"):
        return  # no Debian: `system` says so
    broken = [
        name
        for name, fault, state in _STATES.findall(machine.read("/var/lib/dpkg/status"))
        if state not in _WHOLE or fault != "ok"
    ]
    if any(_locked(machine, file) for file in ("lock", "lock-frontend")):
        yield Fault(
            "packages", "warning", "apt or dpkg is at work on the host", "/var/lib/dpkg/lock",
            "none: what installs packages waits for it",
        )  # fmt: skip
        return  # its packages are half installed, for now
    # What a killed run of ours left, the next one finishes.
    severity = "warning" if machine.known and machine.site in ("", wanted.site) else "error"
    if broken:
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        yield Fault(
            "packages", severity, "packages are half installed", f"{', '.join(broken[:3])}{more}",
            "dpkg --configure -a, then apt-get install -f",
        )  # fmt: skip
    elif any(name.isdigit() for name in machine.names("/var/lib/dpkg/updates")):
        yield Fault("packages", severity, "dpkg was interrupted", "/var/lib/dpkg/updates", "dpkg --configure -a")


def _locked(machine: Machine, name: str) -> bool:
    try:
        state = machine.path(f"/var/lib/dpkg/{name}").stat()
    except OSError:
        return False
    # 1: POSIX  ADVISORY  WRITE 812 08:01:394012 0 EOF
    file = f" {os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino} "
    return file in machine.read("/proc/locks")
