"""Remove members whose data are lost, so that their hosts can join as new ones, or whose hosts are to be erased."""

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

    ``lost``: by database, addresses of hosts that said in this run that they have none. ``clusters``: id by database.
    """
    for one in DATABASES:
        gone = [one.member(address) for address in lost.get(one.short, ())]
        if not gone:
            continue
        now = _speaker(one, clusters, about=f"without data: {', '.join(gone)}")
        for address in gone:
            if address in now.servers and changes.add(f"remove the member of {one.name} at {address}"):
                run(status.appctl(one, "cluster/kick", one.name, address))
                _wait(one, address)
    return changes.result()


def leave(
    changes: Changes, *, name: str, address: str, peers: Sequence[str], clusters: Mapping[str, str]
) -> dict[str, Any]:
    """Remove the members of a host that is about to lose its disk, dead or alive. Raises GroundupError.

    ``address`` is "" when nobody knows it any more; ``peers``: addresses of the site's other control hosts.
    """
    there = [one for one in DATABASES if one.short in clusters or one.file.exists()]
    leaving = {}
    for one in there:  # both are asked before anything is changed
        now = _speaker(one, clusters, about=f"{name} would leave")
        leaving[one.short] = gone = _members_of(one, now, name=name, address=address, peers=peers)
        staying = sorted(now.servers.keys() - set(gone))
        if gone:
            _keep_quorum(one, now, staying, name=name)
    for one in there:
        for member in leaving[one.short]:
            if changes.add(f"remove the member of {one.name} on {name}"):
                run(status.appctl(one, "cluster/kick", one.name, member))
                _wait(one, member)
    return {**changes.result(), "speaks": [one.short for one in there]}


def _members_of(database: Database, now: status.Status, *, name: str, address: str, peers: Sequence[str]) -> list[str]:
    """Return the members that are on host ``name``. Raises GroundupError for one that may be there."""
    if address:
        return [one for one in now.servers if one == database.member(address)]
    known = {now.own, *map(database.member, peers)}
    if foreign := sorted(now.servers.keys() - known):
        raise GroundupError(
            f"{database.name} has a member at {', '.join(foreign)}, which may be {name}",
            where=f"machine {name}, which the site file does not have; {database.unit}",
            why="whose it is, is not known; erased as a member, it would count for the quorum for good",
            remedy=f"write {name} into the site file again, with its address and role, then run this again",
        )
    return []


def _keep_quorum(database: Database, now: status.Status, staying: Sequence[str], *, name: str) -> None:
    """Refuse unless most members that stay are connected to the cluster, by their own word. Raises GroundupError."""
    addresses = {database.host_of(one): one for one in staying if one != now.own}
    answers = status.elsewhere(database, addresses)
    live = [one for one in staying if one == now.own]
    live += [addresses[host] for host, cluster in answers.items() if cluster == now.cluster]
    needed = len(staying) // 2 + 1
    if len(live) < needed:
        ill = ", ".join(sorted(set(staying) - set(live)))
        raise GroundupError(
            f"{database.name} cannot do without {name}: of the {len(staying)} members that stay, {len(live)} are "
            f"connected ({', '.join(sorted(live)) or 'none'}), {needed} are needed",
            where=f"machine {name}, {database.member('*')}; not connected: {ill or 'no other'}",
            why="without a quorum no tenant network changes, and no new host joins; nothing was changed",
            remedy=f"bring {ill} back first (playbook groundup.cloud.network, tag verify), then run this again",
        )


def _speaker(database: Database, clusters: Mapping[str, str], *, about: str) -> status.Status:
    """Return what this host's member says, with a leader of the site's cluster. Raises GroundupError."""
    # Just started members retry their connections at growing intervals.
    wait_until(partial(_silent, database), timeout=PATIENCE)
    now = status.ask(database)
    if now is None or not now.works or now.cluster != clusters.get(database.short, now.cluster):
        raise GroundupError(
            f"this host cannot speak for {database.name}: "
            + (f"{now.state}, leader {now.leader}, cluster {now.cluster}" if now else "its server does not answer"),
            where=f"this host, {database.unit}; {about}",
            why="a member is replaced only with the consent of most members, which only a leader gets",
            remedy="bring back hosts with their data until most members are there, then run this again; if their "
            "data are lost, see docs/network.md",
        )
    return now


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
