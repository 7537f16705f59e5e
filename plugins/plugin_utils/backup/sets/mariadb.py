"""MariaDB's part of a set: a physical copy of one member by mariadb-backup, as a stream of `mbstream`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ...errors import GroundupError
from ...kube.client import Api, ApiError, Executed
from ...kube.piped import Container, PodContainer
from ...kube.types import Object, resource_path
from ...kube.workloads import is_ready
from .etcd import FEW, lacks
from .service_keys import SEALED

SELECTOR, CONTAINER = "application=mariadb,component=server", "mariadb"
_ACCOUNT = "/etc/mysql/admin_user.cnf"
# Who takes writes: label of the built-in chart, and of OpenStack-Helm's.
_WRITER = {"openstack.groundup.cloud/writer": "true", "mariadb_role": "primary"}
_CLIENT = ("--batch", "--skip-column-names", "--connect-timeout=10")
_SYNCED = (
    "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'WSREP_LOCAL_STATE_COMMENT'"
)
_HISTORY = _SYNCED.replace("WSREP_LOCAL_STATE_COMMENT", "WSREP_CLUSTER_STATE_UUID")
_BACKUP = (
    "mariadb-backup", f"--defaults-extra-file={_ACCOUNT}", "--backup", "--galera-info", "--stream=mbstream",
    "--target-dir=/tmp/groundup-backup",
)  # fmt: skip
MARK = 23  # bytes at the begin of a binary log, in which the server notes later that it was closed
_POSITION = re.compile(r"binlog position: filename '([\w.\-]+)', position '(\d+)'")
_DIGEST = """\
set -euo pipefail
dd if="$1" iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" bs=256K status=none | sha256sum
"""
_OWN = "('mysql', 'information_schema', 'performance_schema', 'sys')"
# Counts exactly: a scan of each table, of its shortest index. The server writes the statements itself: they are many.
CONTENT = """\
SET SESSION group_concat_max_len = 67108864;
SELECT 'version', '', '', VERSION();
SELECT 'now', '', '', UNIX_TIMESTAMP();
SELECT IFNULL(GROUP_CONCAT(CONCAT("SELECT 'head', ", QUOTE(table_schema), ", ", QUOTE(table_name),
 ", GROUP_CONCAT(CONVERT(version_num USING utf8mb4) COLLATE utf8mb4_bin ORDER BY version_num) FROM `", table_schema,
 "`.`", table_name, "`")
 SEPARATOR ' UNION ALL '), 'DO 0') INTO @heads FROM information_schema.columns
 WHERE column_name = 'version_num' AND table_name LIKE '%alembic_version%' AND table_schema NOT IN OWN;
EXECUTE IMMEDIATE @heads;
SELECT IFNULL(GROUP_CONCAT(CONCAT("SELECT 'rows', ", QUOTE(table_schema), ", ", QUOTE(table_name),
 ", COUNT(*) FROM `", table_schema, "`.`", table_name, "`") SEPARATOR ' UNION ALL '), 'DO 0')
 INTO @counts FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN OWN;
EXECUTE IMMEDIATE @counts;
SELECT IFNULL(GROUP_CONCAT(CONCAT("(SELECT 'sealed', ", QUOTE(table_schema), ", ", QUOTE(table_name),
 ", CONVERT(`", column_name, "` USING utf8mb4) COLLATE utf8mb4_bin FROM `", table_schema, "`.`", table_name,
 "` WHERE `", column_name, "` LIKE 'gAAAA%' LIMIT 1)") SEPARATOR ' UNION ALL '), 'DO 0')
 INTO @sealed FROM information_schema.columns WHERE (table_schema, table_name, column_name) IN (SEALED);
EXECUTE IMMEDIATE @sealed;
SELECT 'written', table_schema, table_name, UNIX_TIMESTAMP(update_time) FROM information_schema.tables
 WHERE update_time IS NOT NULL AND table_type = 'BASE TABLE' AND table_schema NOT IN OWN;
""".replace("OWN", _OWN).replace("SEALED", ", ".join(map(str, SEALED)))


@dataclass(slots=True)
class Contents:
    """What databases hold: version of the server, heads of migrations by database, rows by table, a text by key.

    ``now``, ``written``: the server's time, and when each table was written last since it started; seconds since 1970.
    """

    version: str = ""
    now: int = 0
    written: dict[str, int] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    sealed: list[tuple[str, str]] = field(default_factory=list)  # repository of service_keys.py, one text of it


def parse(text: str) -> Contents:
    """Return what the answer to `CONTENT` says. Raises ValueError."""
    found = Contents()
    for line in text.splitlines():
        what, database, table, value = line.split("\t")
        if what == "version":
            found.version = value
        elif what == "head":
            # A table without a row has none: Nova's shadow of its own, in which archived rows would be.
            if value != "NULL":
                found.heads[database] = ",".join(filter(None, (found.heads.get(database, ""), value)))
        elif what == "now":
            found.now = int(value)
        elif what in ("rows", "written"):
            {"rows": found.rows, "written": found.written}[what][f"{database}.{table}"] = int(value)
        elif what == "sealed":
            found.sealed += [(name, value) for place, name in SEALED.items() if place[:2] == (database, table)]
        else:
            raise ValueError(f"unknown line {line!r}")
    if not found.version:
        raise ValueError("no version of the server")
    return found


def choose(api: Api, namespace: str, *, prefer: str = "") -> PodContainer:
    """Return the member to copy: synchronised, and the writer only when there is no other. Raises GroundupError.

    ``prefer``: pod that comes before all others.
    """
    pods: list[Object] = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=SELECTOR)["items"]
    why: list[str] = []
    for pod in sorted(pods, key=lambda one: (one["metadata"]["name"] != prefer, _order(one))):
        name = str(pod["metadata"]["name"])
        if not is_ready(pod):
            why.append(f"{name} is not Ready")
            continue
        member = PodContainer(api=api, namespace=namespace, pod=name, container=CONTAINER)
        try:
            done = member.run(client(_SYNCED))
            state = _end(done) if done.code else done.stdout.strip()
        except ApiError as error:
            state = error.what
        if state == "Synced":
            return member
        why.append(f"{name}: {state or 'no member of a Galera cluster'}")
    raise _failed("; ".join(why) or "no member has a pod", where=f"namespace {namespace}, pods {SELECTOR}")


def any_pod(api: Api, namespace: str) -> Object:
    """Return the pod of a member, in whatever state: its image is that of the databases. Raises GroundupError."""
    pods: list[Object] = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=SELECTOR)["items"]
    if not pods:
        raise _failed("no member has a pod", where=f"namespace {namespace}, pods {SELECTOR}")
    return pods[0]


def _order(pod: Object) -> tuple[bool, int]:
    labels = pod["metadata"].get("labels") or {}
    writes = any(labels.get(label) == value for label, value in _WRITER.items())
    return writes, -_ordinal(str(pod["metadata"]["name"]))  # the last member: the first is often the writer


def _ordinal(name: str) -> int:
    number = name.rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def contents(member: Container) -> Contents:
    """Return what a running member holds. Raises GroundupError."""
    said = _run(member, client(CONTENT), what="its tables cannot be counted")
    try:
        return parse(said.stdout)
    except ValueError as error:
        raise _failed(f"its tables cannot be counted: {error}", where=member.name) from error


def take(member: Container, write: Callable[[bytes], object]) -> dict[str, Any]:
    """Write a copy of ``member``; return what a restore test compares: version, heads, rows before and after.

    ``empty``: tables of a few rows that were written meanwhile, so that the copy may have none of them.
    """
    before = contents(member)
    done = _run(member, _BACKUP, what="mariadb-backup failed", sink=write)
    if "completed OK!" not in done.stderr:
        raise _failed(f"mariadb-backup did not complete: {_end(done)}", where=member.name)
    ended = datetime.now(UTC)
    after = contents(member)
    return {
        "version": before.version, "heads": before.heads,
        "rows": {table: [number, after.rows.get(table, 0)] for table, number in before.rows.items()},
        "empty": sorted(
            table for table, number in before.rows.items()
            if min(number, after.rows.get(table, 0)) <= FEW and after.written.get(table, -1) >= before.now
        ),
        **_anchor(member, done.stderr, ended=ended),
    }  # fmt: skip


def logs(member: Container) -> str:
    """Return the path of a member's binary logs without their numbers, "" when it writes none. Raises GroundupError."""
    said = _run(member, client("SELECT IF(@@log_bin, @@log_bin_basename, '')"), what="cannot be asked for its logs")
    return said.stdout.strip()


def history(member: Container) -> str:
    """Return the id of a member's Galera cluster. Raises GroundupError."""
    return _run(member, client(_HISTORY), what="does not say of which cluster it is").stdout.strip()


def _anchor(member: Container, said: str, *, ended: datetime) -> dict[str, Any]:
    """Return where binary logs go on after a copy, of what mariadb-backup ``said``; nothing when there are none.

    A digest of that log's begin tells whose it is; ``at`` is a whole second, at which the copy had ended.
    """
    if not (found := _POSITION.search(said)):
        return {}
    log, position, base = found[1], int(found[2]), logs(member)
    file = f"{base.rpartition('/')[0]}/{log}"
    argv = ("bash", "-c", _DIGEST, "digest", file, str(MARK), str(position - MARK))
    digest = _run(member, argv, what=f"its binary log {log} cannot be read").stdout.split()[0]
    at = (ended.replace(microsecond=0) + timedelta(seconds=1)).isoformat()
    return {"log": {"file": log, "position": position, "sha256": digest, "history": history(member), "at": at}}


def judge(about: Mapping[str, Any], found: Contents) -> list[str]:
    """Return what a restored server lacks. ``about``: of `take`."""
    faults = [
        f"{database}: its schema is at {found.heads.get(database) or 'none'}, it was at {head}"
        for database, head in about["heads"].items()
        if found.heads.get(database) != head
    ]
    for table, recorded in about["rows"].items():
        if table not in found.rows:
            if min(recorded) > 0:  # an empty one may have been dropped meanwhile
                faults.append(f"the table {table} is missing")
        elif not found.rows[table] and table in about.get("empty", ()):
            continue  # its rows come and go
        elif fault := lacks(recorded, found.rows[table]):
            faults.append(f"rows of {table}: {fault}")
    return faults


def client(sql: str) -> tuple[str, ...]:
    """Return the command that asks a member as its administrator: one line a row, columns by tabulators."""
    return ("mariadb", f"--defaults-file={_ACCOUNT}", "--host=localhost", *_CLIENT, f"--execute={sql}")


def _run(
    member: Container, argv: tuple[str, ...], *, what: str, sink: Callable[[bytes], object] | None = None
) -> Executed:
    done = member.run(argv, sink=sink)
    if done.code:
        raise _failed(f"{what}: {_end(done)}", where=member.name)
    return done


def _end(done: Executed) -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return " | ".join(lines[-3:])[-400:] or f"it ended with code {done.code}"


def _failed(what: str, *, where: str) -> GroundupError:
    return GroundupError(
        f"MariaDB cannot be backed up: {what}", where=where,
        why="without its data a set restores no cloud; nothing of this set is kept",
        remedy="run the playbook groundup.cloud.openstack, tag verify: it says what is wrong with the database",
    )  # fmt: skip
