"""OSD flags that a run sets while it restarts a host's OSDs, with a record for the case that it is killed.

Only recorded flags are cleared: flags that others set stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._base.changes import Changes
from . import members
from .cluster import CephCluster

RECORD = "groundup/flags/"  # config-key, by host
NOOUT = "noout"  # OSDs that are down stay in, so that their data are not copied elsewhere


@contextmanager
def held(cluster: CephCluster, host: str) -> Iterator[None]:
    """Set noout on ``host`` during the block, unless it is set already. Raises GroundupError."""
    if NOOUT in cluster.ask("osd dump").get("crush_node_flags", {}).get(host, ()):
        yield  # set by others: leave it
        return
    hold(cluster, host)
    try:
        yield
    finally:
        release(cluster, host)


def hold(cluster: CephCluster, host: str) -> None:
    """Set noout on ``host``, and record it first. Raises GroundupError."""
    cluster.send("config-key set", key=f"{RECORD}{host}", val=NOOUT)
    cluster.send("osd set-group", flags=NOOUT, who=[host])


def put_back(cluster: CephCluster, changes: Changes) -> None:
    """Clear the flags that killed runs left. Raises GroundupError."""
    for host, flag in sorted(members.records(cluster, RECORD).items()):
        if changes.add(f"put back {flag} of {host}: a run that was killed had set it"):
            release(cluster, host, flag)


def release(cluster: CephCluster, host: str, flag: str = NOOUT) -> None:
    """Clear a flag of ours on ``host``. Raises GroundupError."""
    if host in members.hosts(cluster):
        cluster.send("osd unset-group", flags=flag, who=[host])
    cluster.send("config-key rm", key=f"{RECORD}{host}")
