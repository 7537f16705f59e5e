"""dpkg and apt: nothing half done from before."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .model import Fault, Machine, Wanted

_STATES = re.compile(r"^Package: (\S+)\n(?:\S.*\n| .*\n)*?Status: \S+ (\S+) (\S+)$", re.MULTILINE)
_WHOLE = ("installed", "config-files", "not-installed")


def check(machine: Machine, _wanted: Wanted) -> Iterator[Fault]:
    """Yield packages that are half installed, and updates dpkg has not written down.

    A run of ours that lost the host while it installed left them: the next one completes what it needs (`_host.apt`).
    """
    if not machine.has("/usr/bin/dpkg"):
        return  # no Debian: `system` says so
    severity = "warning" if machine.known else "error"
    broken = [
        name
        for name, fault, state in _STATES.findall(machine.read("/var/lib/dpkg/status"))
        if state not in _WHOLE or fault != "ok"
    ]
    if broken:
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        yield Fault(
            "packages", severity, "packages are half installed", f"{', '.join(broken[:3])}{more}",
            "dpkg --configure -a, then apt-get install -f",
        )  # fmt: skip
    elif any(name.isdigit() for name in machine.names("/var/lib/dpkg/updates")):
        yield Fault("packages", severity, "dpkg was interrupted", "/var/lib/dpkg/updates", "dpkg --configure -a")
