"""Fence a dead client by its addresses until it is released: it may still run, and write."""

from __future__ import annotations

import re
from collections.abc import Collection

from .._base.changes import Changes
from .cluster import CephCluster

EXPIRES = 365 * 86400  # seconds. Ceph's default of an hour is too short for a host that waits for a spare part
_RANGE = re.compile(r"(?:cidr:)?([0-9.]+):0/32")  # as `osd dump` shows it: type, address, port, bits


def fence(cluster: CephCluster, changes: Changes, addresses: Collection[str], *, fenced: bool) -> None:
    """Blocklist all clients at ``addresses``, or release them. Raises GroundupError."""
    known = _fenced(cluster)
    for address in addresses:
        what = f"forbid clients at {address} to use Ceph" if fenced else f"let clients at {address} use Ceph again"
        if (address in known) != fenced and changes.add(what):
            verb = {"blocklistop": "add", "expire": float(EXPIRES)} if fenced else {"blocklistop": "rm"}
            cluster.send("osd blocklist", range="range", addr=f"{address}/32", **verb)


def _fenced(cluster: CephCluster) -> set[str]:
    """Return the blocklisted ranges of one IPv4 address; entries of single clients are Ceph's own."""
    found = (_RANGE.fullmatch(str(one)) for one in cluster.ask("osd dump").get("range_blocklist", {}))
    return {one[1] for one in found if one}
