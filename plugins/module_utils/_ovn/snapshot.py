"""Parse a snapshot printed by `ovsdb-client backup`, without any program of Open vSwitch.

The format is a log. Each record is a line with length and SHA-1, then JSON. The first record is the schema, the others
are rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._base.errors import GroundupError

_HEADER = re.compile(rb"OVSDB JSON (\d+) ([0-9a-f]{40})\n")
NAMED = ("Logical_Switch", "Logical_Router", "Logical_Switch_Port")  # Neutron names these rows after its own


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSnapshot:
    """The content of a snapshot."""

    database: str
    version: str  # of its schema
    names: Mapping[str, frozenset[str]]  # by table of NAMED

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows of each table of NAMED."""
        return {table: len(names) for table, names in self.names.items()}


def parse(data: bytes, *, where: str) -> DatabaseSnapshot:
    """Parse a snapshot. Raises GroundupError when it is corrupt or truncated."""
    records = list(_records(data, where=where))
    if len(records) < 2 or "tables" not in records[0]:
        raise _damaged("it has no schema, or no rows", where=where)
    schema, *changes = records
    rows: dict[str, dict[str, dict[str, Any]]] = {table: {} for table in NAMED}
    for change in changes:
        for table in NAMED:
            for uuid, row in (change.get(table) or {}).items():
                if row is None:
                    rows[table].pop(uuid, None)
                else:
                    rows[table][uuid] = rows[table].get(uuid, {}) | row
    return DatabaseSnapshot(
        database=str(schema.get("name", "")),
        version=str(schema.get("version", "")),
        names={table: frozenset(str(row.get("name", "")) for row in rows[table].values()) for table in NAMED},
    )


def newer(version: str, than: str) -> bool:
    """Return whether schema ``version`` is newer than another; both are numbers separated by dots."""
    return _numbers(version) > _numbers(than)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _records(data: bytes, *, where: str) -> Iterator[dict[str, Any]]:
    place = 0
    while place < len(data):
        header = _HEADER.match(data, place)
        if not header:
            raise _damaged(f"no record begins at byte {place}", where=where)
        body = data[header.end() : header.end() + int(header[1])]
        # The format's own checksum: it detects broken disks, not forgery.
        if hashlib.sha1(body, usedforsecurity=False).hexdigest() != header[2].decode():
            raise _damaged(f"the record at byte {place} is not what was written", where=where)
        yield json.loads(body)
        place = header.end() + int(header[1])


def _damaged(what: str, *, where: str) -> GroundupError:
    return GroundupError(
        f"this is no whole snapshot of a database: {what}",
        where=where,
        why="a part of the tenants' networks would be missing",
        remedy="take another backup",
    )
