"""Back up the northbound database on its leader, and restore it from a snapshot.

The southbound database needs no backup: northd rebuilds it from the northbound one, and chassis register themselves.
"""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from . import snapshot, status
from .databases import DATA, NB
from .snapshot import NAMED, DatabaseSnapshot

TIMEOUT = 600  # seconds to read or write a large database


def check(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001  # it only reads
    """Return whether this host's member leads; if so, also its cluster, schema version and row counts.

    Raises GroundupError for a member of another cluster than the site's.
    """
    now = status.ask(NB)
    if now is None or now.role != "leader" or not now.works:
        return {"changed": False, "leader": False}
    known = given["clusters"].get(NB.short, "")
    if known and now.cluster != known:
        raise GroundupError(
            f"{NB.name} on this host is of the cluster {now.cluster}, the site's is {known}",
            where="this host; the site's state directory: ovn.json",
            why="the networks of another cloud may be in it",
            remedy="run the playbook groundup.cloud.network, which says more",
        )
    counts = {table: len(found) for table, found in names().items()}
    return {"changed": False, "leader": True, "cluster": now.cluster, "schema": _schema_version(), "counts": counts}


def take(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of `check` with the database, gzipped, in base64. Raises GroundupError."""
    found = check(changes, given)
    if not found["leader"] or not changes.add(f"save {NB.name}"):
        return found | changes.result()
    data = run(["ovsdb-client", "-t", str(TIMEOUT), "backup", NB.socket, NB.name], timeout=TIMEOUT + 10).encode()
    snapshot.parse(data, where=f"this host, what ovsdb-client backup said of {NB.name}")
    return found | changes.result() | {"content": base64.b64encode(gzip.compress(data, mtime=0)).decode()}


def restore(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the database by a snapshot in one transaction; rows get new ids. Raises GroundupError."""
    found = check(changes, given)
    if not found["leader"] or not changes.add(f"replace what {NB.name} has by the backup"):
        return found | changes.result()
    data = gzip.decompress(base64.b64decode(given["content"]))
    wanted = snapshot.parse(data, where="the backup")
    with tempfile.TemporaryDirectory(dir=DATA, prefix=".restore-") as directory:
        file = Path(directory) / "snapshot.db"
        file.write_bytes(data)
        if wanted.version != found["schema"]:
            _convert(file)
        _load(file)
    if missing := lacking(wanted, names()):
        raise GroundupError(
            f"the backup was restored, and {NB.name} lacks of it {missing}",
            where=f"this host, {NB.unit}",
            why="these networks do not work",
            remedy="if somebody deleted them just now, go on; else restore the backup again",
        )
    return found | changes.result()


def names() -> dict[str, frozenset[str]]:
    """Return the row names of each table in which Neutron names rows. Raises GroundupError."""
    selects = [{"op": "select", "table": table, "where": [], "columns": ["name"]} for table in NAMED]
    query = json.dumps([NB.name, *selects])
    said = json.loads(run(["ovsdb-client", "-t", str(TIMEOUT), "query", NB.socket, query], timeout=TIMEOUT + 10))
    return {table: frozenset(str(row["name"]) for row in part["rows"]) for table, part in zip(NAMED, said, strict=True)}


def lacking(wanted: DatabaseSnapshot, now: Mapping[str, frozenset[str]]) -> str:
    """Return the snapshot's rows that the database lacks; "" when none."""
    gone = {table: sorted(wanted.names[table] - now[table]) for table in NAMED}
    return ", ".join(f"{len(lost)} of {table} ({lost[0]})" for table, lost in gone.items() if lost)


def _schema_version() -> str:
    return run(["ovsdb-client", "-t", str(status.ASK), "get-schema-version", NB.socket, NB.name]).strip()


def _convert(file: Path) -> None:
    """Convert an older snapshot to the database's present schema."""
    schema = file.with_name("schema.json")
    schema.write_text(run(["ovsdb-client", "-t", str(status.ASK * 4), "get-schema", NB.socket, NB.name]))
    run(
        ["ovsdb-tool", "convert", str(file), str(schema)],
        timeout=TIMEOUT,
        why="the backup has an older schema; nothing was changed",
    )


def _load(file: Path) -> None:
    with file.open("rb") as stream:  # not as text: an error would print all of it
        done = subprocess.run(
            ["ovsdb-client", "-t", str(TIMEOUT), "restore", NB.socket, NB.name],
            stdin=stream, capture_output=True, check=False, timeout=TIMEOUT + 10,
        )  # fmt: skip
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").strip()[-2000:]
        raise GroundupError(
            f"{NB.name} did not take the backup: {said}",
            where=f"this host, ovsdb-client restore {NB.socket} {NB.name}",
            why="it is one transaction: what was there before is there still",
            remedy="see that this member leads (ovn-appctl -t /run/ovn/ovnnb_db.ctl cluster/status OVN_Northbound), "
            "then run this again",
        )
