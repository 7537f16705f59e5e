"""The host of a member goes away for a while: whether the others do without it, and who leads meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._host import units
from . import status
from .databases import DATABASES, Database

PATIENCE = 60.0  # seconds for a restarted member to find the new leader


def lacking(*, peers: Sequence[str], clusters: Mapping[str, str]) -> Iterator[str]:
    """Yield what the members on ``peers`` (addresses) lack to be all connected, by their own word.

    ``clusters``: by database, the id of the site's cluster. A member on no host of the site counts for the quorum, too.
    """
    for one in DATABASES:
        if not one.file.exists():
            continue
        own, answers = status.ask(one), status.elsewhere(one, peers)
        cluster = clusters.get(one.short) or (own.cluster if own else "")
        away = [address for address in peers if not (found := answers.get(address)) or found != (cluster or found)]
        yield from (f"{one.name}: the member at {address} is not connected" for address in away)
        strangers = set(own.servers) - {own.own, *map(one.member, peers)} if own else set()
        yield from (f"{one.name}: {member} is a member, and on no host of the site" for member in sorted(strangers))


def hand_over(changes: Changes) -> None:
    """Have another member lead each database: one that ends as it is told hands over first. Raises GroundupError."""
    for one in DATABASES:
        now = status.ask(one)
        if now and now.role == "leader" and changes.add(f"hand over the leadership of {one.name}: restart its member"):
            units.control("restart", one.unit)
            if why := wait_until(partial(_leads, one), timeout=PATIENCE):
                raise GroundupError(
                    f"another member of {one.name} was to lead, and {why}", where=f"this host, {one.unit}",
                    why="while members elect a leader, no tenant network changes",
                    remedy=f"ovn-appctl -t {one.control} cluster/status {one.name}; then run this again",
                )  # fmt: skip


def _leads(database: Database) -> str:
    now = status.ask(database)
    if now is None or not now.works:
        return "this host's does not find it"
    return "this host's leads again" if now.role == "leader" else ""
