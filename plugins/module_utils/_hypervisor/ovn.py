"""Configure ovn-controller: TLS to the southbound database, and restarts that keep the chassis registered."""

from __future__ import annotations

from pathlib import Path

from .._base.changes import Changes
from .._base.run import attempt
from .._base.wait import wait_until
from .._host.units import Unit
from . import southbound
from .pki import OURS

UNIT = "ovn-controller.service"
WHOLE = "ovn-host.service"  # starts it at boot
OPTIONS = Path("/etc/default/ovn-host")
DROP_IN = Path(f"/etc/systemd/system/{UNIT}.d/groundup.conf")
CONNECTED = 30.0  # seconds

_OPTIONS = f"""\
# Written by groundup.cloud.
OVN_CTL_OPTS="--ovn-controller-ssl-key={OURS}/key.pem --ovn-controller-ssl-cert={OURS}/certificate.pem \
--ovn-controller-ssl-ca-cert={OURS}/ca.pem"
"""
# Debian's unit stops it for good: a restart or package upgrade would remove the chassis and its tunnels.
_DROP_IN = """\
# Written by groundup.cloud.
[Service]
ExecStop=
ExecStop=/usr/share/ovn/scripts/ovn-ctl stop_controller --restart
"""


def controller(changes: Changes) -> Unit:
    """Place its files; return its unit, which `start` starts."""
    unit = Unit(changes, UNIT)
    unit.place(DROP_IN, _DROP_IN)
    unit.place(OPTIONS, _OPTIONS)
    return unit


def start(changes: Changes, controller: Unit) -> None:
    """Run it with its present files, now and after a boot. Raises GroundupError."""
    controller.running()
    Unit(changes, WHOLE).running()


def connection() -> str:
    """Return why the southbound database is not connected; "" when it is."""
    said = attempt(["ovn-appctl", "-t", "ovn-controller", "connection-status"], timeout=10)
    state = (said.stdout or said.stderr).strip()
    return "" if state == "connected" else state or "ovn-controller does not answer"


def disconnected() -> str:
    """Wait for the southbound database; return why it is not connected, "" when it is."""
    if not (state := wait_until(connection, timeout=CONNECTED)):
        return ""
    remote = attempt(
        ["ovs-vsctl", "--timeout=10", "--if-exists", "get", "Open_vSwitch", ".", "external_ids:ovn-remote"]
    )
    endpoints = [one for one in remote.stdout.strip().strip('"').split(",") if one]
    return southbound.judge(state, {one: southbound.ask(one) for one in endpoints})
