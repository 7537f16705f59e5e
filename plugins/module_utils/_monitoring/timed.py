"""A program of ours that a timer starts on a host."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from .._base import bundle
from .._base.changes import Changes
from .._base.files import HEADER
from .._host import watched
from .._host.units import Unit

_SERVICE = f"""\
{HEADER}[Unit]
Description=WHAT
After=network-online.target

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 -I -S COMMAND
TimeoutStartSec=TIMEOUT
MemoryMax=MEMORY
TasksMax=64
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
RestrictSUIDSGID=yes
# No way into a pod; of privileges, files and sockets of other accounts.
RestrictNamespaces=yes
CapabilityBoundingSet=CAP_DAC_OVERRIDE
# Not a line of each start and end.
LogLevelMax=notice
"""
_TEXTS = f"ReadWritePaths={watched.TEXTS}\n"
_TIMER = f"""\
{HEADER}[Unit]
Description=WHAT

[Timer]
OnActiveSec=1
OnUnitActiveSec=EVERY
AccuracySec=ACCURACY

[Install]
WantedBy=timers.target
"""


def oneshot(command: str, *, what: str, timeout: int, memory: str, writes: str = _TEXTS, more: str = "") -> str:
    """Return the unit of a program that runs ``command`` and ends within ``timeout`` seconds.

    ``writes``: lines of what it may write. ``more``: others.
    """
    given = {"WHAT": what, "COMMAND": command, "TIMEOUT": f"{timeout}", "MEMORY": memory}
    return _filled(_SERVICE, given) + writes + more


def timer(*, what: str, every: int, accuracy: str = "1") -> str:
    """Return the unit that starts it ``every`` so many seconds."""
    return _filled(_TIMER, {"WHAT": what, "EVERY": f"{every}", "ACCURACY": accuracy})


def in_memory(told: Path) -> str:
    """Return the lines of a program that writes ``told`` below /run: also where the host's disk takes no writes."""
    return f"RuntimeDirectory={told.parent.name}\nRuntimeDirectoryPreserve=yes\n"


def install(changes: Changes, program: Path, module: ModuleType, *, units: dict[str, str]) -> Unit:
    """Write ``program``, made of ``module``, and its ``units``, the timer last; return that, to be run.

    Each start reads the program, and the settings, that are there then. Raises GroundupError, OSError.
    """
    bundle.install(changes, program, module)
    found = Unit(changes, list(units)[-1])
    for name, text in units.items():
        found.place(watched.unit_file(name), text)
    return found


def _filled(text: str, given: dict[str, str]) -> str:
    for word, value in given.items():
        text = text.replace(word, value)
    return text
