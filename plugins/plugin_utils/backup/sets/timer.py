"""The timer of backups: two units of systemd on the control node, of the user who made them.

The service runs the playbook as a person does, with this run's programs and collections. The password of the secrets
store is in neither unit: they name its file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ....module_utils._base import files
from ....module_utils._base.changes import Changes
from ....module_utils._base.run import run
from ...errors import GroundupError
from ...plan.types import Plan
from ...vault.password import VARIABLE, password_source
from .disk import PLAYBOOK

_BOOTED = Path("/run/systemd/system")  # sd_booted(3)
_PASSED = ("GROUNDUP_", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "ANSIBLE_COLLECTIONS_PATH",
           "ANSIBLE_CONFIG", "HOME")  # fmt: skip


def unit(site: str) -> str:
    """Return the name of the units, without their kind."""
    return f"groundup-backup-{site}"


def converge(plan: Plan, site_file: str, changes: Changes, environ: Mapping[str, str] = os.environ) -> None:
    """Install the timer where the site file asks for it, else remove it. Raises GroundupError."""
    service, timer = (_home() / f"{unit(plan.site)}.{kind}" for kind in ("service", "timer"))
    if not plan.backups.schedule:
        if timer.exists():
            if not changes.check:
                _systemctl("disable", "--now", "--", timer.name)
            files.remove(changes, timer)
            files.remove(changes, service)
            if not changes.check:
                _systemctl("daemon-reload")
        return
    _refuse_without_systemd(plan)
    password = _password(plan, environ)
    before = len(changes.done)
    passed = {name: value for name, value in environ.items() if name.startswith(_PASSED)} | {VARIABLE: str(password)}
    files.place(changes, service, _service(plan, site_file, passed))
    files.place(changes, timer, _timer(plan))
    on = not changes.check and _shown(timer.name)["ActiveState"] == "active"
    if len(changes.done) == before and on:
        return
    if changes.add(f"start {timer.name}"):
        _systemctl("daemon-reload")
        _systemctl("enable", "--quiet", "--", timer.name)
        _systemctl("restart", "--", timer.name)


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


def _service(plan: Plan, site_file: str, environ: Mapping[str, str]) -> str:
    program = Path(sys.executable).with_name("ansible-playbook")
    lines = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in sorted(environ.items()))
    command = " ".join(map(_quoted, (str(program), "-i", str(Path(site_file).absolute()), PLAYBOOK)))
    return (
        f"[Unit]\nDescription=Backup of the site {plan.site} ({PLAYBOOK})\n"
        "Wants=network-online.target\nAfter=network-online.target\n\n"
        f"[Service]\nType=oneshot\n{lines}WorkingDirectory={Path.cwd()}\nExecStart={command}\nNice=10\n"
        "TimeoutStartSec=12h\n"
    )


def _timer(plan: Plan) -> str:
    return (
        f"[Unit]\nDescription=Backups of the site {plan.site}\n\n"
        f"[Timer]\nOnCalendar={plan.backups.schedule}\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _password(plan: Plan, environ: Mapping[str, str]) -> Path:
    named = plan.backups.password_file
    path = Path(named) if named else password_source(plan.site, environ).path.absolute()
    if not os.access(path, os.R_OK) or not path.is_file():
        raise GroundupError(
            f"the timer of backups has no password file: {path}", where="backups.password_file of the site file",
            why="nobody types the password at night, and no unit has it: each run would fail",
            remedy="name a file that only its owner reads, or a script that prints the password",
        )  # fmt: skip
    return path


def _refuse_without_systemd(plan: Plan) -> None:
    if not _BOOTED.is_dir():
        raise GroundupError(
            f"backups.schedule ({plan.backups.schedule}) needs systemd, which does not run this machine",
            where="the control node", why="a timer that nobody starts makes no backup",
            remedy="leave backups.schedule out; run the playbook groundup.cloud.backup by what starts jobs here",
        )  # fmt: skip
    if not _root() and not Path(f"/var/lib/systemd/linger/{Path.home().owner()}").exists():
        raise GroundupError(
            "systemd ends this user's timers when the user logs out", where="the control node",
            why="the timer of backups would not run at night", remedy="loginctl enable-linger, as root for this user",
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
