"""Health of the cluster: placement groups, OSDs, monitors, Ceph's health checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .._base.errors import GroundupError
from .._base.wait import wait_until
from .cluster import CephCluster

PATIENCE = 300.0  # seconds for a cluster to become clean


def wait(pending: Callable[[], str], what: str, *, timeout: float | None = None) -> None:
    """Wait until nothing is ``pending``. Raises GroundupError with ``what`` and the pending reason."""
    timeout = PATIENCE if timeout is None else timeout
    if reason := wait_until(pending, timeout=timeout):
        raise GroundupError(
            f"{what}: {reason}",
            where="the cluster, as its monitors see it",
            why=f"it did not change within {timeout:g} s; with less than all copies the next fault may lose data",
            remedy="on a monitor host: ceph health detail, ceph osd tree, ceph pg dump_stuck",
        )


def unclean(cluster: CephCluster) -> str:
    """Count placement groups that are not active+clean, or are inconsistent; "" when there are none."""
    # During a scrub a healthy group is active+clean+scrubbing.
    return _groups(cluster, lambda name: not name.startswith("active+clean") or "inconsistent" in name)


def recovering(cluster: CephCluster) -> str:
    """Count placement groups that recover or backfill, or wait for it; "" when there are none."""
    return _groups(cluster, lambda name: "recover" in name or "backfill" in name)


def inactive(cluster: CephCluster) -> str:
    """Count placement groups that are inactive or stale, and serve no client; "" when there are none."""
    return _groups(cluster, lambda name: "active" not in name.split("+") or "stale" in name)


def down(cluster: CephCluster, *, expected: int) -> str:
    """Return which OSDs are down or out, and how many of ``expected`` ones exist when some lack; "" when all work."""
    found = cluster.ask("osd dump")["osds"]
    away = [
        f"osd.{one['osd']} {'is down' if not one['up'] else 'is out'}" for one in found if not one["up"] * one["in"]
    ]
    if len(found) < expected:
        away.append(f"{len(found)} of {expected} OSDs are known")
    return ", ".join(away)


def outside(cluster: CephCluster, monitors: Iterable[str]) -> str:
    """Return which of ``monitors`` are outside the quorum, "" when none is."""
    inside = cluster.ask("quorum_status")["quorum_names"]
    return ", ".join(f"monitor {name} is outside the quorum" for name in monitors if name not in inside)


def unwell(cluster: CephCluster) -> str:
    """Return Ceph's reasons for not being HEALTH_OK, "" when it is."""
    found = cluster.ask("health", detail="detail")
    if found["status"] == "HEALTH_OK":
        return ""
    reasons = [f"{name} ({one['summary']['message']})" for name, one in found["checks"].items()]
    return f"{found['status']}: {'; '.join(reasons) or 'no reason given'}"


def _groups(cluster: CephCluster, picked: Callable[[str], bool]) -> str:
    """Count the placement groups in each state that ``picked`` accepts by name."""
    states = cluster.ask("pg stat")["pg_summary"]["num_pg_by_state"]
    return ", ".join(f"{one['num']} PGs {one['name']}" for one in states if picked(one["name"]))
