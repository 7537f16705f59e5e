"""Metrics of the cluster: the managers' module `prometheus`, on where the plan has monitoring.

Only the active manager tells them. A module that others switched on stays: ours is recorded.
"""

from __future__ import annotations

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .cluster import CephCluster

MODULE = "prometheus"
RECORD = "groundup/metrics"  # config-key: a run switched the module on
PATIENCE = 120.0  # seconds for a new manager to say which modules it has
SWITCHING_ON = f"switch on Ceph's metrics (module {MODULE} of the managers)"


def converge(cluster: CephCluster, changes: Changes, *, wanted: bool) -> None:
    """Switch the module on, or off if a run had switched it on. Raises GroundupError."""
    recorded = bool(cluster.ask("config-key dump", key=RECORD))
    if wanted:
        if not _on(cluster) and changes.add(SWITCHING_ON):
            _wait_for_offer(cluster)
            cluster.send("config-key set", key=RECORD, val=MODULE)  # first: a killed run is known
            cluster.send("mgr module enable", module=MODULE)
    elif recorded and changes.add(f"switch off Ceph's metrics (module {MODULE} of the managers)"):
        if _on(cluster):
            cluster.send("mgr module disable", module=MODULE)
        cluster.send("config-key rm", key=RECORD)


def silent(cluster: CephCluster) -> str:
    """Return why no manager tells metrics; "" when one does."""
    if MODULE in cluster.ask("mgr services"):
        return ""
    return f"no manager tells metrics ({'it starts' if _on(cluster) else f'module {MODULE} is off'})"


def _on(cluster: CephCluster) -> bool:
    return MODULE in cluster.ask("mgr module ls")["enabled_modules"]


def _wait_for_offer(cluster: CephCluster) -> None:
    def lacking() -> bool:
        known = cluster.ask("mgr module ls")
        return MODULE not in {str(one["name"]) for one in known["disabled_modules"]}

    if wait_until(lacking, timeout=PATIENCE, pause=1.0):
        raise GroundupError(
            f"no manager of Ceph offers the module {MODULE}",
            where="ceph mgr module ls",
            why="monitoring would learn nothing of Ceph",
            remedy="ceph mgr stat names the active manager; on its host: systemctl status ceph-mgr@HOST",
        )
