"""Install the program that asks the site's management controllers (`redfish`), and the timer that starts it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .._base import bundle
from .._base.changes import Changes
from .._base.files import HEADER
from .._host import watched
from .._host.units import Unit
from .redfish import program

EVERY = 60  # seconds: a controller has a slow processor
MACHINES = watched.HOME / "central/redfish/machines.json"
_WHAT = "Power supplies, fans and temperatures by management controllers"
SERVICE = f"""\
{HEADER}[Unit]
Description={_WHAT}
After=network-online.target

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 -I -S {watched.REDFISH_PROGRAM} {watched.REDFISH} {MACHINES}
# As long as many controllers that do not answer take.
TimeoutStartSec=600
MemoryMax=256M
TasksMax=64
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={watched.TEXTS}
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
CapabilityBoundingSet=CAP_DAC_OVERRIDE
# Not a line of each start and end.
LogLevelMax=warning
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


def converge(changes: Changes, machines: Mapping[str, Any], *, passwords: Mapping[str, str]) -> None:
    """Have the controllers of ``machines`` asked; none: leave nothing behind. Raises GroundupError, OSError."""
    if not machines:
        watched.remove_redfish(changes)
        return
    bundle.install(changes, watched.REDFISH_PROGRAM, program)
    timer = Unit(changes, watched.REDFISH_TIMER)  # each start reads what is there then
    known = json.dumps({"machines": machines, "passwords": passwords}, indent=1, sort_keys=True)
    timer.place(MACHINES, f"{known}\n", mode=0o600, secret=True)
    for name, text in ((watched.REDFISH_SERVICE, SERVICE), (watched.REDFISH_TIMER, TIMER)):
        timer.place(watched.unit_file(name), text)
    timer.running()
