"""The page of machines on the seed: its account, files, passwords and unit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._host import accounts
from .._host.units import Unit
from . import configuration as own
from .sandbox import unprivileged

ACCOUNT = "groundup-machines"
USER = "operator"  # who logs in to the page
PROGRAMS = own.PROGRAMS / "machines"
PASSWORDS = own.DIRECTORY / "machines-htpasswd"
CONTROLLER = own.DIRECTORY / "machines-controller-htpasswd"  # a copy: this account must not read Ironic's
STATE = Path("/var/lib") / ACCOUNT
UNIT = Path(f"/etc/systemd/system/{ACCOUNT}.service")

# It reads two password hashes and writes only its own directory. It has no access to Ironic's database.
UNIT_TEXT = """\
[Unit]
Description=Page of machines

[Service]
User=%(account)s
Group=%(account)s
ExecStart=%(environment)s/bin/python %(programs)s/groundup-machines --port %(machines_inside)s --passwords %(passwords)s --state %(state)s
Restart=on-failure
RestartSec=5
StateDirectory=%(account)s
StateDirectoryMode=0700
UMask=0077
MemoryMax=512M
TasksMax=100
%(sandbox)s
[Install]
WantedBy=multi-user.target
"""  # noqa: E501  # one command


def unit_text(wanted: Mapping[str, Any], *, environment: Path) -> str:
    found = {
        "account": ACCOUNT, "programs": PROGRAMS, "state": STATE, "environment": environment,
        "machines_inside": wanted["machines_inside"], "passwords": f"{CONTROLLER} {PASSWORDS}",
        "sandbox": unprivileged("AF_INET", "AF_UNIX"),
    }  # fmt: skip
    return files.HEADER + UNIT_TEXT % found


def converge(
    changes: Changes, wanted: Mapping[str, Any], *, home: Path, is_current: bool, controller: str, operator: str
) -> None:
    """Install and start the page as in ``wanted``. Raises GroundupError, OSError.

    ``controller`` and ``operator``: htpasswd lines of Ironic's user and of the page's.
    """
    group = accounts.ensure(changes, ACCOUNT, home=str(STATE), login="/usr/sbin/nologin")
    unit = Unit(changes, UNIT.name)
    if not is_current:
        unit.replaced()
    for name, text in wanted["machines_files"].items():
        unit.place(PROGRAMS / name, text)
    for path, line in ((CONTROLLER, controller), (PASSWORDS, operator)):
        unit.place(path, line, mode=0o640, group=group, secret=True)
    unit.place(UNIT, unit_text(wanted, environment=home))
    unit.running()
