"""Content of a seed backup: Ironic's database, calls home, DHCP leases. Kept in memory only: it has passwords."""

from __future__ import annotations

import gzip
import io
import re
import sqlite3
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from .._base.errors import GroundupError

_DATABASE, _LEASES = "ironic.sqlite", "leases"
_CALL = re.compile(r"machines/([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.json)")
# State of an operation under way -> its failed state, as Ironic itself ends it: a restored seed cannot continue it.
_ENDS = {
    "deploying": "deploy failed", "wait call-back": "deploy failed", "cleaning": "clean failed",
    "clean wait": "clean failed", "inspecting": "inspect failed", "inspect wait": "inspect failed",
    "deleting": "error",
}  # fmt: skip
_STEADY = ("enroll", "manageable", "available", "active", "error")
_TIMEOUT = 60.0  # seconds to wait for a writer


@dataclass(frozen=True, slots=True, kw_only=True)
class IronicNode:
    name: str  # "" of a discovered machine without an identity
    state: str

    @property
    def steady(self) -> bool:
        """Whether no operation is under way."""
        return self.state in _STEADY or self.state.endswith("failed")

    def became(self, now: IronicNode | None) -> bool:
        """Whether a restore leads to ``now``: the same node, or the failure of its operation under way."""
        ended = not self.steady and now is not None and (now.state in ("enroll", "error") or "failed" in now.state)
        return now == self or (ended and now is not None and now.name == self.name)

    def __str__(self) -> str:
        return f"{self.name or 'one without a name'} ({self.state})"


@dataclass(frozen=True, slots=True, kw_only=True)
class IronicSnapshot:
    """A seed's state."""

    database: bytes
    calls: Mapping[str, bytes]  # by file
    leases: bytes
    nodes: Mapping[str, IronicNode]  # by id
    schema: str  # schema revision of the database

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of machines, active ones, calls and leases."""
        active = sum(node.state == "active" for node in self.nodes.values())
        leases = len(self.leases.splitlines())
        return {"machines": len(self.nodes), "active": active, "calls": len(self.calls), "leases": leases}


def copy(database: Path) -> bytes:
    """Return a consistent copy of a database in use. Raises sqlite3.Error."""
    with (
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=_TIMEOUT)) as source,
        closing(sqlite3.connect(":memory:")) as target,
    ):
        source.backup(target)  # in one step; the write-ahead log lets writers go on
        return _logged(target.serialize(), ahead=False)


def ask(database: Path) -> tuple[dict[str, IronicNode], str]:
    """Return nodes and schema of a database in use. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=_TIMEOUT)) as source:
        return _read(source)


def pack(database: bytes, calls: Mapping[str, bytes], leases: bytes) -> bytes:
    """Return a reproducible archive of the state."""
    stream = io.BytesIO()
    content = {_DATABASE: database, _LEASES: leases, **{f"machines/{name}": calls[name] for name in sorted(calls)}}
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o600
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(stream.getvalue(), mtime=0)


def parse(data: bytes, *, where: str) -> IronicSnapshot:
    """Parse an archive of `pack`, and its database. Raises GroundupError when it is damaged."""
    try:
        found = dict(_members(gzip.decompress(data)))
        database, leases = found.pop(_DATABASE), found.pop(_LEASES)
        with _opened(database) as opened:
            whole = opened.execute("PRAGMA quick_check").fetchone()[0]
            nodes, schema = _read(opened)
    except (OSError, EOFError, LookupError, ValueError, tarfile.TarError, sqlite3.Error) as error:
        raise _torn(str(error) or type(error).__name__, where) from error
    if whole != "ok":
        raise _torn(whole, where)
    return IronicSnapshot(database=database, calls=found, leases=leases, nodes=nodes, schema=schema)


def _torn(what: str, where: str) -> GroundupError:
    return GroundupError(
        f"it is no whole state of a seed: {what}",
        where=where,
        why="machines that it lacks would be installed anew",
        remedy="name another backup",
    )


def held(snapshot: IronicSnapshot, *, backup: str) -> tuple[bytes, list[str]]:
    """Return the database for a restore, and the names of nodes that are set to maintenance in it.

    These had an operation under way at the backup. Their present state is unknown, so Ironic must leave them alone.
    """
    names = []
    with _opened(snapshot.database) as opened:
        for identity, node in snapshot.nodes.items():
            if node.steady:
                continue
            if node.state == "verifying":  # harmless: only its management controller was contacted
                opened.execute("UPDATE nodes SET provision_state = 'enroll' WHERE uuid = ?", (identity,))
                continue
            names.append(node.name or identity)
            said = f"the backup {backup} was taken while it was {node.state}: see what it is now, then begin again"
            opened.execute(
                "UPDATE nodes SET maintenance = 1, maintenance_reason = ?, last_error = ?, provision_state = ? "
                "WHERE uuid = ?",
                (said, said, _ENDS.get(node.state, node.state), identity),
            )
        opened.execute("UPDATE nodes SET reservation = NULL, target_power_state = NULL")
        opened.commit()
        return _logged(opened.serialize(), ahead=True), sorted(names)


def _read(database: sqlite3.Connection) -> tuple[dict[str, IronicNode], str]:
    rows = database.execute("SELECT uuid, name, provision_state FROM nodes").fetchall()
    revision = database.execute("SELECT version_num FROM alembic_version").fetchone()
    nodes = {str(uuid): IronicNode(name=name or "", state=str(state)) for uuid, name, state in rows}
    return nodes, str(revision[0])


@contextmanager
def _opened(data: bytes) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(data)
        yield database


def _logged(data: bytes, *, ahead: bool) -> bytes:
    """Set the write-ahead log in a database's header, or clear it: a database in memory cannot have one."""
    return data[:18] + (b"\2\2" if ahead else b"\1\1") + data[20:]


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for entry in archive:
            call = _CALL.fullmatch(entry.name)
            stream = archive.extractfile(entry) if entry.isreg() else None
            if stream is None or not (call or entry.name in (_DATABASE, _LEASES)):
                raise ValueError(f"{entry.name!a:.80} is no part of it")
            yield call.group(1) if call else entry.name, stream.read()
