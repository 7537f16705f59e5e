"""Install the program that tells what runs on a host (`host_metrics`), and the timer that starts it."""

from __future__ import annotations

from .._base import bundle, files
from .._base.changes import Changes
from .._base.files import HEADER
from .._host import watched
from .._host.units import Unit
from .host_metrics import program

EVERY = 10  # seconds
_WHAT = "Metrics of what runs on this host"
_SERVICE = f"""\
{HEADER}[Unit]
Description={_WHAT}

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 -I -S {watched.HOST_PROGRAM} {watched.HOST_TOLD}NAMESPACE
TimeoutStartSec=60
MemoryMax=128M
TasksMax=64
NoNewPrivileges=yes
ProtectSystem=strict
RuntimeDirectory={watched.HOST_TOLD.parent.name}
RuntimeDirectoryPreserve=yes
ProtectHome=yes
PrivateTmp=yes
RestrictSUIDSGID=yes
# No way into a pod; of privileges, sockets of other accounts.
RestrictNamespaces=yes
CapabilityBoundingSet=CAP_DAC_OVERRIDE
# Not a line of each start and end.
LogLevelMax=notice
"""
TIMER = f"""\
{HEADER}[Unit]
Description={_WHAT}

[Timer]
OnActiveSec=1
OnUnitActiveSec={EVERY}
AccuracySec=100ms

[Install]
WantedBy=timers.target
"""


def service(namespace: str) -> str:
    """Return the unit that asks the host, and its pods of ``namespace``; "": none."""
    return _SERVICE.replace("NAMESPACE", f" {namespace}" if namespace else "")


def converge(changes: Changes, *, namespace: str) -> None:
    """Install program and timer; a start reads the program that is there then. Raises GroundupError, OSError."""
    bundle.install(changes, watched.HOST_PROGRAM, program)
    timer = Unit(changes, watched.HOST_TIMER)
    for name, text in ((watched.HOST_SERVICE, service(namespace)), (watched.HOST_TIMER, TIMER)):
        timer.place(watched.unit_file(name), text)
    timer.running()
    files.link(changes, watched.HOST_METRICS, str(watched.HOST_TOLD))
