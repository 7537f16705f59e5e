"""The units of backups and of what is looked at by itself: of systemd on the control node, of the user who made them.

Timers start backups, comparison and looks; the copy of MariaDB's binary logs runs all the time.

The services run their playbooks as a person does, with this run's programs and collections. The password of the secrets
store is in neither unit: they name its file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....module_utils._base import files
from ....module_utils._base.changes import Changes
from ....module_utils._base.run import run
from ...errors import GroundupError
from ...paths import state_dir
from ...plan.types import Plan
from ...run_mode import WITHIN_RUN
from ...vault.password import VARIABLE, password_source
from ..logs.job import PLAYBOOK as LOGS_PLAYBOOK
from .disk import PLAYBOOK

DRIFT_PLAYBOOK = "groundup.cloud.drift"
FAILURE_PLAYBOOK = "groundup.cloud.hypervisor_failure"
CAPACITY_PLAYBOOK = "groundup.cloud.capacity"
_LOOKS = "*:0/2"  # OnCalendar: each second minute
_TOLD = 900  # seconds of copying binary logs until monitoring is told, which takes an hour for old
_BOOTED = Path("/run/systemd/system")  # sd_booted(3)
_PASSED = ("GROUNDUP_", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "ANSIBLE_COLLECTIONS_PATH",
           "ANSIBLE_CONFIG", "HOME")  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Timed:
    """One playbook that a timer starts."""

    unit: str  # name of its units, without their kind
    playbook: str
    schedule: str | None  # OnCalendar; None: the site asks for none
    what: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    limit: str = "12h"
    exits: str = ""  # codes beside 0 that are no failure


def unit(site: str) -> str:
    """Return the name of the units of the timer, without their kind."""
    return f"groundup-backup-{site}"


def logs_unit(site: str) -> str:
    """Return the name of the unit that copies binary logs."""
    return f"groundup-logs-{site}.service"


def drift_unit(site: str) -> str:
    """Return the name of the units that compare the site with its file, without their kind."""
    return f"groundup-drift-{site}"


def failure_unit(site: str) -> str:
    """Return the name of the units that look for dead hypervisors, without their kind."""
    return f"groundup-hypervisor-failure-{site}"


def converge(plan: Plan, site_file: str, changes: Changes, environ: Mapping[str, str] = os.environ) -> None:
    """Install the units that the site file asks for, remove the others. Raises GroundupError."""
    drift, room, heal = (
        (plan.monitoring.drift, plan.monitoring.capacity, plan.monitoring.heal) if plan.monitoring else (None,) * 3
    )
    passed: dict[str, str] = {}
    report = {"failure_file": str(state_dir(plan.site) / "hypervisor-failure.json"), "failure_publish": True}
    timed = (
        _Timed(unit(plan.site), PLAYBOOK, plan.backups.schedule, "Backup"),
        # It ends with 2 or 4 when something differs or is unknown: the metric says so.
        _Timed(drift_unit(plan.site), DRIFT_PLAYBOOK, drift, "Drift",
               {"drift_publish": True} | ({"drift_heal": True} if heal else {}), limit="12h" if heal else "1h",
               exits="2 4"),
        _Timed(failure_unit(plan.site), FAILURE_PLAYBOOK, _LOOKS if plan.openstack.hypervisor_failure else None,
               "Dead hypervisors", report, exits="2 4"),
        _Timed(f"groundup-capacity-{plan.site}", CAPACITY_PLAYBOOK,
               room.schedule if room else None, "Capacity", {"capacity_publish": True}, limit="1h"),
    )  # fmt: skip
    if not any(one.schedule for one in timed) and plan.backups.logs_every and not _BOOTED.is_dir():
        changes.warnings.append(f"no systemd here: let what starts jobs run the playbook {LOGS_PLAYBOOK}")
    elif wanted := _wanted(plan):
        _refuse_without_systemd(wanted)
        password = str(_password(plan, environ))
        own = {one: value for one, value in environ.items() if one.startswith(_PASSED) and one != WITHIN_RUN}
        passed = own | {VARIABLE: password}
    target = "multi-user.target" if _root() else "default.target"
    # Both are read once, at its start: in its text, a change restarts it.
    into = (plan.backup_directory or "the state directory").replace("%", "%%")
    told = ("-e", f"backup_logs_seconds={_TOLD}") if plan.monitoring else ()
    copy = _service(
        plan, LOGS_PLAYBOOK, site_file, passed, *told,
        what=f"Copy of the binary logs, every {plan.backups.logs_every} s into {into},",
        how="Restart=always\nRestartSec=5\n",
        install=f"\n[Install]\nWantedBy={target}\n",
    )  # fmt: skip
    for one in timed:
        options = ("-e", json.dumps(one.variables)) if one.variables else ()
        exits = f"SuccessExitStatus={one.exits}\n" if one.exits else ""
        how = f"Type=oneshot\nTimeoutStartSec={one.limit}\n{exits}"
        service = _service(plan, one.playbook, site_file, passed, *options, what=one.what, how=how, install="")
        units = {f"{one.unit}.service": service, f"{one.unit}.timer": _timer(plan, one.schedule, what=one.what)}
        _converge(units, f"{one.unit}.timer", changes, wanted=bool(one.schedule))
    logs = logs_unit(plan.site)
    _converge({logs: copy}, logs, changes, wanted=plan.backups.logs_every > 0 and bool(passed))


def _wanted(plan: Plan) -> str:
    """Return the fields of the site file that ask for a unit."""
    fields = {
        f"backups.schedule ({plan.backups.schedule})": plan.backups.schedule,
        f"backups.logs_every ({plan.backups.logs_every})": plan.backups.logs_every,
        "openstack.hypervisor_failure": plan.openstack.hypervisor_failure,
        **({f"monitoring.drift ({plan.monitoring.drift})": plan.monitoring.drift} if plan.monitoring else {}),
        "monitoring.capacity": plan.monitoring and plan.monitoring.capacity,
    }
    return ", ".join(field for field, value in fields.items() if value)


def _converge(units: Mapping[str, str], started: str, changes: Changes, *, wanted: bool) -> None:
    """Install ``units`` and start one of them, or remove them."""
    if not wanted:
        if (_home() / started).exists():
            if not changes.check:
                _systemctl("disable", "--now", "--", started)
            for name in reversed(list(units)):
                files.remove(changes, _home() / name)
            if not changes.check:
                _systemctl("daemon-reload")
        return
    before, there = len(changes.done), (_home() / started).exists()
    if there and not changes.check and any(files.read(_home() / name) != text for name, text in units.items()):
        _systemctl("stop", "--", started)  # a killed run leaves it off: else the next takes it for one of this text
    for name, text in units.items():
        files.place(changes, _home() / name, text)
    on = not changes.check and _shown(started)["ActiveState"] == "active"
    if len(changes.done) == before and on:
        return
    if changes.add(f"start {started}"):
        _systemctl("daemon-reload")
        _systemctl("enable", "--quiet", "--", started)
        _systemctl("restart", "--", started)


def fault(plan: Plan) -> tuple[str, str] | None:
    """Return what is wrong with the timer that the site file asks for, and the remedy; None when nothing is."""
    name = unit(plan.site)
    if not plan.backups.schedule:
        return None
    again = "run the playbook groundup.cloud.backup_timer"
    if not _BOOTED.is_dir():
        return "no systemd on this machine runs it", "leave backups.schedule out, and let cron run the playbook"
    if _shown(f"{name}.timer").get("ActiveState") != "active":
        return f"{name}.timer does not run", again
    result = _shown(f"{name}.service").get("Result", "success")
    if result != "success":
        return f"its last run failed ({result})", f"journalctl {'' if _root() else '--user '}-u {name}.service"
    return None


def _service(
    plan: Plan,
    playbook: str,
    site_file: str,
    environ: Mapping[str, str],
    *options: str,
    what: str,
    how: str,
    install: str,
) -> str:
    program = Path(sys.executable).with_name("ansible-playbook")
    variables = [_quoted(f"{name}={value}", dollars=False) for name, value in sorted(environ.items())]
    lines, here = "".join(f"Environment={one}\n" for one in variables), str(Path.cwd()).replace("%", "%%")
    command = " ".join(map(_quoted, (str(program), "-i", str(Path(site_file).absolute()), playbook, *options)))
    return (
        f"[Unit]\nDescription={what} of the site {plan.site} ({playbook})\n"
        "Wants=network-online.target\nAfter=network-online.target\n\n"
        f"[Service]\n{how}{lines}WorkingDirectory={here}\nExecStart={command}\nNice=10\n{install}"
    )


def _timer(plan: Plan, schedule: str | None, *, what: str) -> str:
    return (
        f"[Unit]\nDescription={what} of the site {plan.site}\n\n"
        f"[Timer]\nOnCalendar={schedule}\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )


def _quoted(text: str, *, dollars: bool = True) -> str:
    """Return ``text`` as one word of a unit. ``dollars``: of a command, in which they begin variables."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped.replace("$", "$$") if dollars else escaped}"'


def _password(plan: Plan, environ: Mapping[str, str]) -> Path:
    named = plan.backups.password_file
    path = Path(named) if named else password_source(plan.site, environ).path.absolute()
    if not os.access(path, os.R_OK) or not path.is_file():
        raise GroundupError(
            f"a timer of this site has no password file: {path}", where="backups.password_file of the site file",
            why="nobody types the password at night, and no unit has it: each run would fail",
            remedy="name a file that only its owner reads, or a script that prints the password",
        )  # fmt: skip
    return path


def _refuse_without_systemd(wanted: str) -> None:
    if not _BOOTED.is_dir():
        raise GroundupError(
            f"{wanted} needs systemd, which does not run this machine",
            where="the control node", why="units that nobody starts do nothing",
            remedy=f"leave it out; run the playbooks {PLAYBOOK}, {LOGS_PLAYBOOK}, {DRIFT_PLAYBOOK}, "
            f"{FAILURE_PLAYBOOK} and {CAPACITY_PLAYBOOK} by what starts jobs here",
        )  # fmt: skip
    if not _root() and not Path(f"/var/lib/systemd/linger/{Path.home().owner()}").exists():
        raise GroundupError(
            "systemd ends this user's timers when the user logs out", where="the control node",
            why="no timer would run at night", remedy="loginctl enable-linger, as root for this user",
        )  # fmt: skip


def _root() -> bool:
    return os.geteuid() == 0


def _home() -> Path:
    return Path("/etc/systemd/system") if _root() else Path.home() / ".config/systemd/user"


def _systemctl(*argv: str) -> str:
    return run(["systemctl", *([] if _root() else ["--user"]), *argv])


def _shown(name: str) -> dict[str, str]:
    text = _systemctl("show", "--property", "ActiveState,Result", "--", name)
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
