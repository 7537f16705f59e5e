"""Query the cluster status of this host's running member, and of members on other hosts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from .._base.run import attempt, run
from .databases import CA, MEMBER, Database

_SERVER = re.compile(r"^ +([0-9a-f]{4}) \([^)]*? at (\S+?)\)( \(self\))?", re.MULTILINE)
_FIELD = re.compile(r"^([A-Z][A-Za-z ]+): (.*)$", re.MULTILINE)
_LOG = re.compile(r"^Log: \[\d+, (\d+)\]$", re.MULTILINE)
_ID = re.compile(r"\(([0-9a-f-]{36})\)")
ASK = 5  # seconds per request


class Status(NamedTuple):
    """A member's parsed `cluster/status`."""

    cluster: str  # id; "" while it joins
    state: str  # "cluster member"; otherwise while it joins or leaves, and after it left
    role: str  # leader, follower or candidate
    leader: str  # "self", the first letters of another's id, or "unknown"
    election_timer: int  # milliseconds
    behind: int  # log entries not yet applied
    servers: dict[str, str]  # address -> first letters of the id
    own: str = ""  # its own address of them
    term: int = 0
    uncommitted: int = 0  # log entries not yet at most members
    next: int = 0  # index of the next log entry

    @property
    def works(self) -> bool:
        """Return whether it is a member with a known leader."""
        return self.state == "cluster member" and self.leader != "unknown"


def parse(text: str) -> Status:
    """Parse the output of `cluster/status`."""
    fields, log = dict(_FIELD.findall(text)), _LOG.search(text)
    return Status(
        cluster=_id(fields.get("Cluster ID", "")),
        state=fields.get("Status", "unknown"),
        role=fields.get("Role", "unknown"),
        leader=fields.get("Leader", "unknown"),
        election_timer=int(fields.get("Election timer", 0)),
        behind=int(fields.get("Entries not yet applied", 0)),
        servers={address: short for short, address, _ in _SERVER.findall(text)},
        own=next((address for _, address, own in _SERVER.findall(text) if own), ""),
        term=int(fields.get("Term", 0)),
        uncommitted=int(fields.get("Entries not yet committed", 0)),
        next=int(log[1]) if log else 0,
    )


def ask(database: Database) -> Status | None:
    """Return the status of this host's member of ``database``; None when it does not answer."""
    done = attempt(appctl(database, "cluster/status", database.name))
    return None if done.returncode else parse(done.stdout)


def appctl(database: Database, command: str, *arguments: str) -> list[str]:
    """Return the ovn-appctl command line for this host's member."""
    return ["ovn-appctl", "-T", str(ASK), "-t", str(database.control), command, *arguments]


def northd() -> str:
    """Return the state of this host's northd: active, standby, paused, or "silent" when it does not answer."""
    done = attempt(["ovn-appctl", "-T", str(ASK), "-t", "ovn-northd", "status"])
    return done.stdout.partition(":")[2].strip() if done.returncode == 0 else "silent"


def elsewhere(database: Database, addresses: Iterable[str]) -> dict[str, str]:
    """Return the cluster id of each member on ``addresses`` that answers and is connected to its cluster."""
    found = {}
    for address in addresses:
        where = {"op": "select", "table": "Database", "where": [["name", "==", database.name]]}
        query = json.dumps(["_Server", {**where, "columns": ["cid", "connected"]}])
        remote = f"ssl:{address}:{_open(database)}"
        tls = [f"--private-key={MEMBER}", f"--certificate={MEMBER}", f"--ca-cert={CA}"]
        done = attempt(["ovsdb-client", "-t", str(ASK), *tls, "query", remote, query])
        if done.returncode == 0 and (cluster := parse_answer(done.stdout)):
            found[address] = cluster
    return found


def parse_answer(text: str) -> str:
    """Return the cluster id in a member's answer; "" when it is not connected to its cluster."""
    rows = json.loads(text)[0].get("rows", ())
    return next((str(row["cid"][1]) for row in rows if row["connected"] and row["cid"][:1] == ["uuid"]), "")


def listeners(database: Database) -> frozenset[tuple[str, str, int]]:
    """Return target, role and probe of the present listeners of ``database``. Raises GroundupError."""
    columns = "target,inactivity_probe" + (",role" if database.knows_roles else "")
    said = run([*local(database), "-f", "json", f"--columns={columns}", "list", "connection"])
    return parse_listeners(said)


def parse_listeners(text: str) -> frozenset[tuple[str, str, int]]:
    """Return target, role and probe of each row; -1 for an unset probe (an empty set)."""
    found = json.loads(text)
    rows = (dict(zip(found["headings"], row, strict=True)) for row in found["data"])
    return frozenset((row["target"], row.get("role", ""), _number(row["inactivity_probe"])) for row in rows)


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1


def local(database: Database) -> list[str]:
    """Return the client's command line for this host's member, which forwards writes to the leader."""
    return [database.client, "--no-leader-only", f"--db={database.socket}", f"--timeout={ASK * 4}"]


def _open(database: Database) -> int:
    return next(one.port for one in database.listeners if not one.role)


def _id(text: str) -> str:
    found = _ID.search(text)
    return found[1] if found else ""
