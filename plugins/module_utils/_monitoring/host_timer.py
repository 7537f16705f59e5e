"""Install the program that tells what runs on a host (`host_metrics`), and the timer that starts it."""

from __future__ import annotations

from .._base import bundle
from .._base.changes import Changes
from .._base.files import HEADER
from .._host import watched
from .._host.units import Unit
from .host_metrics import program

EVERY = 15  # seconds
_WHAT = "Metrics of what runs on this host"
# Sockets of other accounts; a pod's files and network, and its database's client as the account that it runs as.
_MAY = "CAP_DAC_OVERRIDE CAP_SYS_PTRACE CAP_SYS_ADMIN CAP_SYS_CHROOT CAP_SETUID CAP_SETGID"
SERVICE = f"""\
{HEADER}[Unit]
Description={_WHAT}

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 -I -S {watched.HOST_PROGRAM} {watched.HOST_METRICS}
TimeoutStartSec=60
MemoryMax=128M
TasksMax=64
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={watched.TEXTS}
ProtectHome=yes
PrivateTmp=yes
RestrictSUIDSGID=yes
CapabilityBoundingSet={_MAY}
# Not a line of each start and end.
LogLevelMax=notice
"""
TIMER = f"""\
{HEADER}[Unit]
Description={_WHAT}

[Timer]
OnActiveSec=1
OnUnitActiveSec={EVERY}
AccuracySec=1

[Install]
WantedBy=timers.target
"""


def converge(changes: Changes) -> None:
    """Install program and timer; a start reads the program that is there then. Raises GroundupError, OSError."""
    bundle.install(changes, watched.HOST_PROGRAM, program)
    timer = Unit(changes, watched.HOST_TIMER)
    for name, text in ((watched.HOST_SERVICE, SERVICE), (watched.HOST_TIMER, TIMER)):
        timer.place(watched.unit_file(name), text)
    timer.running()
