"""Install automatic certificate renewal: this package's code as one file, and a systemd timer that starts it."""

from __future__ import annotations

from ipaddress import ip_address

from .._base import bundle
from .._base.changes import Changes
from .._host.units import MARKS, Unit
from . import unattended
from .spec import Node, Paths

PROGRAM = "/usr/local/lib/groundup/kubeadm.pyz"
NAME = "groundup-certificates"
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SERVICE = f"""\
# Written by groundup.cloud.
[Unit]
Description=Renewal of control plane certificates that end within 30 days
After=kubelet.service
ConditionPathExists=/etc/kubernetes/admin.conf

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 {PROGRAM}
TimeoutStartSec=30min
"""


def schedule(address: str) -> str:
    """Return the timer unit of the host at ``address``: weekly, neighbouring addresses on different days."""
    day = DAYS[int(ip_address(address)) % len(DAYS)]
    return f"""\
# Written by groundup.cloud.
[Unit]
Description=Weekly renewal of control plane certificates

[Timer]
OnCalendar={day} *-*-* 02:00:00
RandomizedDelaySec=3h
Persistent=true

[Install]
WantedBy=timers.target
"""


def install(node: Node, paths: Paths, changes: Changes) -> None:
    """Install program and timer on a control host. Raises GroundupError, OSError."""
    units, marks = paths.at("/etc/systemd/system"), paths.at(str(MARKS))
    # Never restart it: that would interrupt a renewal, and a new one would wait for this run's lock.
    service = Unit(changes, f"{NAME}.service", on_change=None, marks=marks)
    timer = Unit(changes, f"{NAME}.timer", marks=marks)
    service.place(units / f"{NAME}.service", SERVICE)
    timer.place(units / f"{NAME}.timer", schedule(node.address))
    bundle.install(changes, paths.at(PROGRAM), unattended, shown=PROGRAM)
    service.refreshed()
    timer.running()
