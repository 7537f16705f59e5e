"""Read this host's database file, which alone decides whether it is a member."""

from __future__ import annotations

from dataclasses import dataclass

from .._base.errors import GroundupError
from .._base.run import attempt, run
from .databases import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftMember:
    """A cluster member, read from its file."""

    cluster: str  # id; "" while its join is unfinished
    server: str  # id
    address: str  # known to the others, such as "ssl:10.0.0.11:6643"


MAGIC = b"OVSDB CLUSTER "  # first bytes of a clustered database file


def refuse_foreign(database: Database) -> None:
    """Refuse a database file that is not a cluster member's. Raises GroundupError, OSError."""
    file = database.file
    if file.exists() and file.open("rb").read(len(MAGIC)) != MAGIC:
        raise GroundupError(
            f"{file} is no member of a cluster",
            where=f"this host, {file}",
            why="it may hold the networks of another cloud; nothing is made in its place, nor of it",
            remedy="if nothing uses it: systemctl stop ovn-central, move the file away, then run this again",
        )


def read(database: Database) -> RaftMember | None:
    """Return the member on this host's disk; None without a file. Raises GroundupError."""
    file = str(database.file)
    if not database.file.exists():
        return None
    joined = attempt(["ovsdb-tool", "db-cid", file])
    return RaftMember(
        cluster=joined.stdout.strip() if joined.returncode == 0 else "",
        server=run(["ovsdb-tool", "db-sid", file]).strip(),
        address=run(["ovsdb-tool", "db-local-address", file]).strip(),
    )


def check(database: Database, member: RaftMember, *, address: str, known: str) -> None:
    """Refuse a member of a cluster other than the ``known`` one, or with another raft address. Raises GroundupError."""
    if known and member.cluster not in ("", known):
        raise GroundupError(
            f"{database.name} on this host is of the cluster {member.cluster}, the site's is {known}",
            where=f"this host, {database.file}; the site's state directory: ovn.json",
            why="the networks of another cloud may be in it; nothing is changed",
            remedy="correct the addresses in the site file, or restore the state directory of this site; if the data "
            "are of no use: systemctl stop ovn-central, move the file away, then run this again",
        )
    if member.address != database.member(address):
        raise GroundupError(
            f"the other members know this one as {member.address}, the site file has {address}",
            where=f"this host, {database.file}",
            why="a member keeps its address for life: with another one it would be cut off",
            remedy="give the host its former address, or, with the other members at work: systemctl stop ovn-central, "
            "move the file away, then run this again: it joins as a new member",
        )
