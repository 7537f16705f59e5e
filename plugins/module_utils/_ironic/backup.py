"""Back up a running seed's state (Ironic's database, calls home, DHCP leases), and restore it.

The rest is not in a backup: the role makes configuration, programs and boot media again, the layer `seed` images.
"""

from __future__ import annotations

import base64
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import write_file
from .._host.units import ACTIVE, control, properties
from . import configuration as own
from . import netboot, service, snapshot
from .snapshot import IronicSnapshot

CALLS = own.STATE / "machines"
LEASES = netboot.STATE / "leases"
_UNITS = (own.CONTACT_UNIT.name, own.UNIT.name, netboot.UNIT.name)  # all that write this state


def check(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001  # it only reads
    """Return Ironic's nodes, by id, and its database's schema, "" without a database. Raises GroundupError."""
    if not own.DATABASE.exists():
        return {"changed": False, "nodes": {}, "schema": ""}
    try:
        nodes, schema = snapshot.ask(own.DATABASE)
    except sqlite3.Error as error:
        raise _unreadable(error) from error
    return {"changed": False, "nodes": {identity: asdict(node) for identity, node in nodes.items()}, "schema": schema}


def take(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of `check`, with the backup as base64 text. Raises GroundupError."""
    found = check(changes, given)
    if not found["schema"]:
        raise GroundupError(
            "there is no Ironic to be saved",
            where=str(own.DATABASE),
            why="a backup without machines would look like a good one",
            remedy="run the playbook groundup.cloud.ironic, or groundup.cloud.seed_restore for a seed that was lost",
        )
    if not changes.add("save what the seed knows of machines"):
        return found | changes.result()
    try:
        database = snapshot.copy(own.DATABASE)
    except sqlite3.Error as error:
        raise _unreadable(error) from error
    # Read after the database, so that it lacks no call of a machine that the database has as installed.
    calls = {path.name: path.read_bytes() for path in CALLS.glob("[!.]*.json")}
    packed = snapshot.pack(database, calls, LEASES.read_bytes() if LEASES.exists() else b"")
    snapshot.parse(packed, where=str(own.DATABASE))
    return found | changes.result() | {"content": base64.b64encode(packed).decode()}


def restore(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the seed's state by ``content``, and check that Ironic then has all its nodes. Raises GroundupError.

    No machine is switched or written to: nodes with an operation under way are set to maintenance.
    """
    found = check(changes, given)
    if not changes.add("replace what the seed knows of machines by the backup"):
        return found | changes.result()
    wanted = snapshot.parse(base64.b64decode(given["content"]), where=f"the backup {given['source']}")
    database, on_hold = snapshot.held(wanted, backup=given["source"])
    with _stopped():
        _place(wanted, database)
    service.ironic_answers(given["port"])
    now, _ = snapshot.ask(own.DATABASE)
    if lost := [str(node) for identity, node in wanted.nodes.items() if identity not in now]:
        raise GroundupError(
            f"the backup was restored, and Ironic lacks of it {', '.join(lost[:5])}",
            where=str(own.DATABASE),
            why="these machines would be installed anew",
            remedy="see journalctl -u ironic on the seed, and restore it again",
        )
    return found | changes.result() | {"held": on_hold}


def _place(wanted: IronicSnapshot, database: bytes) -> None:
    """Write each file beside its place and rename it. Run a killed restore again."""
    owner = own.STATE.stat()  # Ironic's account, which the role made
    write_file(_new(own.DATABASE), database, mode=0o600)
    for beside in ("-wal", "-shm"):  # of the old database
        own.DATABASE.with_name(own.DATABASE.name + beside).unlink(missing_ok=True)
    os.chown(_new(own.DATABASE), owner.st_uid, owner.st_gid)
    _new(own.DATABASE).replace(own.DATABASE)
    shutil.rmtree(_new(CALLS), ignore_errors=True)
    _new(CALLS).mkdir(mode=0o700)
    for name, data in wanted.calls.items():
        write_file(_new(CALLS) / name, data, mode=0o600)
    for path in (_new(CALLS), *_new(CALLS).iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)
    shutil.rmtree(CALLS, ignore_errors=True)
    _new(CALLS).replace(CALLS)
    if LEASES.parent.is_dir():  # a site whose machines boot from the network
        owner = LEASES.parent.stat()
        write_file(LEASES, wanted.leases, mode=0o600)
        os.chown(LEASES, owner.st_uid, owner.st_gid)


def _new(path: Path) -> Path:
    return path.with_name(f"{path.name}.restored")


@contextmanager
def _stopped() -> Iterator[None]:
    """Stop the services that write the state; afterwards start those that ran, and Ironic in any case."""
    ran = [unit for unit in _UNITS if properties(unit, "ActiveState").get("ActiveState") in ACTIVE]
    try:
        for unit in ran:
            control("stop", unit)
        yield
    finally:
        for unit in dict.fromkeys([*ran, *_UNITS[:2]]):
            control("start", unit)


def _unreadable(error: sqlite3.Error) -> GroundupError:
    return GroundupError(
        f"Ironic's database cannot be read: {error}",
        where=str(own.DATABASE),
        why="what machines it has is not known",
        remedy="see journalctl -u ironic on the seed; move a damaged one away, then restore a backup",
    )
