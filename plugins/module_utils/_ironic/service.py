"""The Ironic service on the seed: account, environment, database, passwords, units."""

from __future__ import annotations

import os
import pwd
import sqlite3
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .._base.wait import wait_until
from .._host import accounts, environment
from .._host.units import Unit
from .._seed.configuration import nginx_takes
from . import configuration as own
from . import page, ramdisk, runner
from .passwords import line_of

ACCOUNT = "ironic"
START = 180.0  # seconds until Ironic answers: it takes ten to load, more on a busy machine
_IMPORTS = "import ironic.version, cheroot, bcrypt, pycdlib, webob"
# Below the state directory; in `tftp` Ironic prepares network boots.
_OWN = ("tmp", "logs", "machines", "images", "master-images", "master-ramdisks", "ramdisk", "tftp")


def converge(changes: Changes, wanted: Mapping[str, Any]) -> str:
    """Install and start Ironic as in ``wanted``; return its environment's name. Raises GroundupError, OSError."""
    group = accounts.ensure(changes, ACCOUNT, home=str(own.STATE), login="/usr/sbin/nologin")
    name, is_current = environment.place(
        changes,
        release=wanted["release"],
        url=wanted["environment_url"],
        sha256=None,
        ca=wanted["ca_certificate"],
        root=own.PROGRAMS,
        imports=_IMPORTS,
    )
    home = own.PROGRAMS / environment.CURRENT
    found = own.values(wanted, environment=home)
    ironic = Unit(changes, own.UNIT.name)
    contact = Unit(changes, own.CONTACT_UNIT.name)
    web = Unit(changes, "nginx.service", on_change="reload")
    _directories(changes)
    if not is_current:
        for unit in (ironic, contact, Unit(changes, page.UNIT.name)):
            unit.replaced()
            if not changes.check:
                unit.mark()
        environment.switch(changes, name, root=own.PROGRAMS)
    contact.place(own.PROGRAMS / "bin/groundup-contact", wanted["contact"])
    ironic.place(own.PROGRAMS / "bin/mkisofs", wanted["mkisofs"], mode=0o755)
    ironic.place(own.BOUNDS, wanted["bounds"])
    ironic.place(own.CA, wanted["ca_certificate"])
    ironic.place(own.CONF, own.conf(found), mode=0o640, group=group)
    ramdisk.place(changes, wanted)
    for path, text in own.units(found).items():
        (ironic if path == own.UNIT else contact).place(path, text)
    if changes.check and not home.exists():
        changes.add("start Ironic")
        return name
    line = line_of(home, own.USER, own.PASSWORDS, wanted["password"])
    ironic.place(own.PASSWORDS, line, mode=0o640, group=group, secret=True)
    _database(changes, home)
    ironic.running()
    contact.running()
    operator = line_of(home, page.USER, page.PASSWORDS, wanted["machines_password"])
    page.converge(changes, wanted, home=home, is_current=is_current, controller=line, operator=operator)
    if not wanted.get("runner"):
        runner.absent(changes)
    web.place(own.WEB, own.web(found), valid=partial(nginx_takes, place=own.WEB))
    web.running()
    if not changes.check:
        answers(wanted)
    return name


def answers(wanted: Mapping[str, Any]) -> None:
    """Wait until Ironic and the page of machines answer on the loopback. Raises GroundupError."""
    ironic_answers(wanted["api_inside"])
    url = f"http://127.0.0.1:{wanted['machines_inside']}/machines/"
    _answers(url, "the page of machines", page.UNIT.name, lacks="nobody sees there where machines are")


def ironic_answers(port: int) -> None:
    """Wait until Ironic answers on the loopback. Raises GroundupError."""
    _answers(f"http://127.0.0.1:{port}/v1", "Ironic", own.UNIT.name, lacks="no machine can be installed")


def _answers(url: str, what: str, unit: str, *, lacks: str) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def silent() -> str:
        try:
            with direct.open(url, timeout=10):
                return ""
        except OSError as error:
            return str(error)

    if said := wait_until(silent, timeout=START, pause=1):
        raise GroundupError(
            f"{what} does not answer: {said}",
            where=url,
            why=f"{START:g} s after its start; {lacks}",
            remedy=f"journalctl -n 50 -u {unit}",
        )


def _directories(changes: Changes) -> None:
    places = [own.STATE, own.MEDIA, *(own.STATE / name for name in _OWN)]
    lacks = [path for path in places if not path.is_dir()]
    if lacks and changes.add(f"make {', '.join(map(str, lacks))}"):
        account = pwd.getpwnam(ACCOUNT)
        for path in lacks:
            path.mkdir(parents=True)
            os.chown(path, account.pw_uid, account.pw_gid)
            # nginx must read boot media. Their names are random, and 0711 lets no other account list them.
            path.chmod(0o711 if path in (own.STATE, own.MEDIA, own.RAMDISK) else 0o700)


def _database(changes: Changes, home: Path) -> None:
    """Create the database with write-ahead logging: without it readers block writers. Raises GroundupError."""
    if own.DATABASE.exists() and _journal() == "wal":
        return
    if changes.add(f"make {own.DATABASE}, with write-ahead logging"):
        # As Ironic's account, which then owns SQLite's other files, too. `ironic-dbsync upgrade` fails on SQLite.
        if not own.DATABASE.exists():
            new = own.DATABASE.with_name("new.sqlite")
            new.unlink(missing_ok=True)
            place = f"OS_DATABASE__CONNECTION=sqlite:///{new}"
            _as_ironic("env", place, str(home / "bin/ironic-dbsync"), "--config-file", str(own.CONF), "create_schema")
            new.chmod(0o600)  # it has passwords of management controllers; SQLite's other files get its mode
            new.rename(own.DATABASE)
        logged = f"import sqlite3; sqlite3.connect({str(own.DATABASE)!r}).execute('PRAGMA journal_mode=WAL')"
        _as_ironic("/usr/bin/python3", "-c", logged)
    if not changes.check and (mode := _journal()) != "wal":
        raise GroundupError(
            f"the database's journal is {mode}",
            where=str(own.DATABASE),
            why="Ironic's conductor and API would lock each other out",
            remedy=f"move {own.DATABASE} away while ironic.service is stopped, or put it on a local file system",
        )


def _journal() -> str:
    with sqlite3.connect(f"file:{own.DATABASE}?mode=ro", uri=True) as database:
        return str(database.execute("PRAGMA journal_mode").fetchone()[0])


def _as_ironic(*argv: str) -> None:
    run(["setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--init-groups", "--", *argv], timeout=300)
