"""Metrics of the cluster: the managers' module `prometheus`, on where the plan has monitoring.

Only the active manager tells them. A module that others switched on stays: ours is recorded.
"""

from __future__ import annotations

from .._base.changes import Changes
from .cluster import CephCluster

MODULE = "prometheus"
RECORD = "groundup/metrics"  # config-key: a run switched the module on
SWITCHING_ON = f"switch on Ceph's metrics (module {MODULE} of the managers)"


def converge(cluster: CephCluster, changes: Changes, *, wanted: bool) -> None:
    """Switch the module on, or off if a run had switched it on. Raises GroundupError."""
    recorded = bool(cluster.ask("config-key dump", key=RECORD))
    if wanted:
        if not _on(cluster) and changes.add(SWITCHING_ON):
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
