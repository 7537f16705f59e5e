"""Flags that a run sets for as long as it restarts a host's OSDs; one that was killed left a record of its own.

Only what the record names is put back: a flag that somebody else set stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._base.changes import Changes
from . import members
from .cluster import Cluster

RECORD = "groundup/flags/"  # config-key, by host
NOOUT = "noout"  # OSDs that are down stay in: their data are not copied elsewhere meanwhile


@contextmanager
def held(cluster: Cluster, host: str) -> Iterator[None]:
    """Have no OSD of ``host`` marked out while the block runs."""
    if NOOUT in cluster.ask("osd dump").get("crush_node_flags", {}).get(host, ()):
        yield  # another's
        return
    cluster.send("config-key set", key=f"{RECORD}{host}", val=NOOUT)
    cluster.send("osd set-group", flags=NOOUT, who=[host])
    try:
        yield
    finally:
        _release(cluster, host, NOOUT)


def put_back(cluster: Cluster, changes: Changes) -> None:
    """Take back the flags of runs that were killed."""
    for host, flag in sorted(members.records(cluster, RECORD).items()):
        if changes.add(f"put back {flag} of {host}: a run that was killed had set it"):
            _release(cluster, host, flag)


def _release(cluster: Cluster, host: str, flag: str) -> None:
    if host in members.hosts(cluster):
        cluster.send("osd unset-group", flags=flag, who=[host])
    cluster.send("config-key rm", key=f"{RECORD}{host}")
