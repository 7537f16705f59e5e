"""What this host has of a database on its disk: the only thing that says whether it is a member."""

from __future__ import annotations

from dataclasses import dataclass

from .._base.errors import GroundupError
from .._base.run import attempt, run
from .databases import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a cluster, on disk."""

    cluster: str  # id; "" when it has not joined to the end
    server: str  # id
    address: str  # "ssl:10.0.0.11:6643": where the others know it


MAGIC = b"OVSDB CLUSTER "  # how the file of a member begins; known without any program


def refuse_foreign(database: Database) -> None:
    """Refuse data that are no member of a cluster. Raises GroundupError, OSError."""
    file = database.file
    if file.exists() and file.open("rb").read(len(MAGIC)) != MAGIC:
        raise GroundupError(
            f"{file} is no member of a cluster",
            where=f"this host, {file}",
            why="it may hold the networks of another cloud; nothing is made in its place, nor of it",
            remedy="if nothing uses it: systemctl stop ovn-central, move the file away, then run this again",
        )


def read(database: Database) -> Member | None:
    """Return the member on this host's disk, None when there is nothing. Raises GroundupError."""
    file = str(database.file)
    if not database.file.exists():
        return None
    joined = attempt(["ovsdb-tool", "db-cid", file])
    return Member(
        cluster=joined.stdout.strip() if joined.returncode == 0 else "",
        server=run(["ovsdb-tool", "db-sid", file]).strip(),
        address=run(["ovsdb-tool", "db-local-address", file]).strip(),
    )


def check(database: Database, member: Member, *, address: str, known: str) -> None:
    """Refuse a member of a cluster other than the ``known`` one, or one that others know elsewhere."""
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
