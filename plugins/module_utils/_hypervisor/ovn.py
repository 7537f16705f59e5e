"""Configure ovn-controller: TLS to the southbound database, and restarts that keep the chassis registered.

Clients of a cluster refuse members that know less than they have seen: a database that was made anew in the place of a
lost one, until they are told to forget that. Neutron's agent is one, too, and forgets it by a restart alone.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from .._base.changes import Changes
from .._base.run import attempt, run
from .._base.wait import wait_until
from .._host.units import Unit
from . import southbound
from .pki import OURS

UNIT = "ovn-controller.service"
WHOLE = "ovn-host.service"  # starts it at boot
OPTIONS = Path("/etc/default/ovn-host")
DROP_IN = Path(f"/etc/systemd/system/{UNIT}.d/groundup.conf")
CONNECTED, SETTLES = 30.0, 1.0  # seconds
GUIDE = "docs/network.md, versions of OVN"
EMPTY = (
    "instances are served by flows as before, which it would delete. Next: fill the northbound database "
    "(docs/network.md, All data lost); without any network: ovn-appctl -t ovn-controller sb-cluster-state-reset"
)
_REGISTERED = "neutron:ovn-neutron-agent-id"  # what Neutron's agent writes of itself, beside the chassis
_LTS = ("22.03", "24.03", "26.03", "28.03")  # long-term releases, one every two years
_FIRST = "ovn-controller goes first, as it has to know what northd writes"
_VERSION = re.compile(r"(\d\d\.\d\d)(?:\.\d+)")

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


def accept(changes: Changes, controller: Unit, agent: Unit) -> None:
    """Have ovn-controller and Neutron's agent take a southbound database that was made anew. Raises GroundupError.

    Not while it is empty: ovn-controller would delete the flows of all instances.
    """
    if not controller.active:
        return
    if wait_until(_unsettled, timeout=CONNECTED):
        if not _flows():
            return  # a fault of its own, which `disconnected` names
        if changes.add("have ovn-controller forget the former southbound database"):
            run(["ovn-appctl", "-T", "10", "-t", "ovn-controller", "sb-cluster-state-reset"])
            wait_until(_unsettled, timeout=CONNECTED)
    found = _sbctl("--bare", "--columns=external_ids", "find", "Chassis_Private", f"name={_external('system-id')}")
    if not found.returncode and _REGISTERED not in found.stdout:
        agent.replaced()
        if not changes.check:
            agent.mark()


def connection() -> str:
    """Return why the southbound database is not connected; "" when it is."""
    said = attempt(["ovn-appctl", "-t", "ovn-controller", "connection-status"], timeout=10)
    state = (said.stdout or said.stderr).strip()
    return "" if state == "connected" else state or "ovn-controller does not answer"


def _unsettled() -> str:
    """Like `connection`, asked twice: between a connection and the refusal of what is there, it says "connected"."""
    if not (state := connection()):
        time.sleep(SETTLES)
        state = connection()
    return state


def compare(changes: Changes, host: str) -> None:
    """Warn where upstream does not support ovn-controller with the site's northd, or where that is not known.

    One that is not connected is a fault of its own.
    """
    if connection():
        return
    own = attempt(["ovn-appctl", "-t", "ovn-controller", "version"], timeout=10)
    asked = _sbctl("--if-exists", "get", "SB_Global", ".", "options:northd_internal_version")
    found = [_VERSION.search(one.stdout) for one in (own, asked)]
    if found[0] and found[1]:
        why = skew(found[0][1], found[1][1])
    else:
        said = (asked if found[0] else own).stderr.strip()[-200:] or "no version"
        why = f"whether ovn-controller may work with northd is not known: {said}"
    if why:
        changes.warnings.append(f"{host}: {why}: {GUIDE}")


def skew(controller: str, northd: str) -> str:
    """Return why upstream does not support the two together, "" when it does ("OVN Upgrades", rolling upgrade).

    ovn-controller goes first, from a release to the next long-term one; from a long-term one to any up to the next.
    """
    following = next((one for one in _LTS if one > northd), "")
    if controller in {northd, following} or (northd in _LTS and northd < controller < following):
        return ""
    if controller > northd:
        return f"ovn-controller {controller} is too new for northd {northd}: upstream goes through {following}"
    return f"ovn-controller {controller} is older than northd {northd}, which upstream does not support: {_FIRST}"


def _flows() -> int | None:
    """Return of how many networks and routers the database has flows, None when it does not answer."""
    done = _sbctl("--bare", "--columns=_uuid", "list", "Datapath_Binding")
    return None if done.returncode else len(done.stdout.split())


def _sbctl(*words: str) -> subprocess.CompletedProcess[str]:
    """Ask the southbound database as a client that has seen none before."""
    return attempt([
        "ovn-sbctl", "--timeout=10", "--no-leader-only", f"--db={_external('ovn-remote')}",
        f"--private-key={OURS}/key.pem", f"--certificate={OURS}/certificate.pem", f"--ca-cert={OURS}/ca.pem", *words,
    ], timeout=20)  # fmt: skip


def _external(name: str) -> str:
    said = attempt(["ovs-vsctl", "--timeout=10", "--if-exists", "get", "Open_vSwitch", ".", f"external_ids:{name}"])
    return said.stdout.strip().strip('"')


def disconnected() -> str:
    """Wait for the southbound database; return why it is not connected, "" when it is."""
    if not (state := wait_until(_unsettled, timeout=CONNECTED)):
        return ""
    if _flows() == 0:
        return f"{state}: the southbound database is empty, and not the former one; {EMPTY}"
    endpoints = [one for one in _external("ovn-remote").split(",") if one]
    return southbound.judge(state, {one: southbound.ask(one) for one in endpoints})
