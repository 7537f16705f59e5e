"""Let a storage host rest: its OSDs stay in while they are down. It rests only when all data have another copy."""

from __future__ import annotations

from collections.abc import Iterable

from .._base.changes import Changes
from .._base.errors import GroundupError
from . import flags, health, members
from .cluster import CephCluster


def rest(cluster: CephCluster, changes: Changes, name: str, *, monitors: Iterable[str]) -> None:
    """Set noout for ``name``. Raises GroundupError when data or the quorum would be without it.

    A host that rests already, by a run that was killed, rests on.
    """
    if name in members.records(cluster, flags.RECORD):
        return
    others = [one for one in monitors if one != name]
    health.wait(lambda: health.unclean(cluster) or health.outside(cluster, others), f"{name} cannot rest")
    found = members.member(cluster, name)
    _stoppable(cluster, "osd", [str(one.number) for one in found.osds], name)
    _stoppable(cluster, "mon", [name] if found.monitor else [], name)
    if changes.add(f"set {flags.NOOUT} for {name}"):
        flags.hold(cluster, name)


def rise(cluster: CephCluster, changes: Changes, name: str, *, monitors: Iterable[str], timeout: float) -> None:
    """Wait until the OSDs of ``name`` are up with all their data, then clear its noout. Raises GroundupError."""
    if name not in members.records(cluster, flags.RECORD):
        return
    if not changes.check:
        health.wait(
            lambda: _down(cluster, name) or health.unclean(cluster) or health.outside(cluster, monitors),
            f"{name} is not back", timeout=timeout or None,
        )  # fmt: skip
    if changes.add(f"clear {flags.NOOUT} of {name}"):
        flags.release(cluster, name)


def _down(cluster: CephCluster, name: str) -> str:
    away = [str(one) for one in members.member(cluster, name).osds if one.state != "up"]
    return f"down: {members.listed(away)}" if away else ""


def _stoppable(cluster: CephCluster, kind: str, ids: list[str], name: str) -> None:
    code, _, said = cluster.attempt(f"{kind} ok-to-stop", ids=ids) if ids else (0, None, "")
    if code:
        raise GroundupError(
            f"{name} cannot rest: {said or f'{kind} ok-to-stop ends with {code}'}",
            where=f"ceph {kind} ok-to-stop {' '.join(ids)}, on a monitor host",
            why="clients would wait until it is back; nothing was changed",
            remedy="give the pools more copies, or bring back what is down; then run this again",
        )
