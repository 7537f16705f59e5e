"""Remove members whose data are lost, so that their hosts can join as new members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .._base.wait import wait_until
from . import status
from .databases import DATABASES, Database

PATIENCE = 30.0  # seconds for the leader to agree with the others


def remove(changes: Changes, *, lost: Mapping[str, Sequence[str]], clusters: Mapping[str, str]) -> dict[str, Any]:
    """Remove the former members of hosts without data. Raises GroundupError.

    Args:
        changes: records the removals.
        lost: by database: addresses of hosts that reported in this run that they have no data.
        clusters: by database: the id of the site's cluster.
    """
    for one in DATABASES:
        gone = [one.member(address) for address in lost.get(one.short, ())]
        if not gone:
            continue
        # Just started members retry their connections at growing intervals.
        wait_until(partial(_silent, one), timeout=PATIENCE)
        now = status.ask(one)
        if now is None or not now.works or now.cluster != clusters.get(one.short, now.cluster):
            raise GroundupError(
                f"this host cannot speak for {one.name}: "
                + (f"{now.state}, leader {now.leader}, cluster {now.cluster}" if now else "its server does not answer"),
                where=f"this host, {one.unit}; without data: {', '.join(gone)}",
                why="a member is replaced only with the consent of most members, which only a leader gets",
                remedy="bring back hosts with their data until most members are there, then run this again; if their "
                "data are lost, see docs/network.md",
            )
        for address in gone:
            if address in now.servers and changes.add(f"remove the member of {one.name} at {address}"):
                run(status.appctl(one, "cluster/kick", one.name, address))
                _wait(one, address)
    return changes.result()


def _silent(database: Database) -> bool:
    now = status.ask(database)
    return now is None or not now.works


def _wait(database: Database, address: str) -> None:
    def pending() -> bool:
        now = status.ask(database)
        return now is None or address in now.servers

    if wait_until(pending, timeout=PATIENCE):
        raise GroundupError(
            f"the members of {database.name} did not agree to go on without {address}",
            where=f"this host, ovn-appctl -t {database.control} cluster/status {database.name}",
            why="beside a member that is gone a new one would make a quorum harder to reach",
            remedy="see that most members answer, then run this again",
        )
