"""Ask Ceph's monitors once how the cluster is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._ceph import health
from .._ceph.cluster import connected, installed
from .._ceph.model import ADMIN, LIB, entities, plan, watching

PATIENCE = 5  # seconds for an answer of the monitors


def cluster(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return health, OSDs and use; broken is what verification would refuse. Raises GroundupError without a quorum."""
    ceph = plan(given)
    monitor = LIB / f"mon/ceph-{given['name']}"
    if not installed() or (ceph.backend == "native" and not monitor.exists()):
        return {"state": "not made"}
    monitors = watching(ceph)
    with connected(ADMIN, entities(given["keys"])[ADMIN], monitors, timeout=PATIENCE) as one:
        said, versions = one.ask("status"), one.ask("versions")["overall"]
        faults = [health.outside(one, monitors), health.down(one, expected=given["osds"])] if given["osds"] else []
        faults += [health.unclean(one), health.unwell(one)]
    osds, use, why = said["osdmap"], said["pgmap"], "; ".join(filter(None, faults))
    return {
        "state": "broken" if why else "ok",
        "why": why,
        "remedy": "on a monitor host: ceph health detail, ceph osd tree" if why else "",
        "health": said["health"]["status"],
        "osds": {"known": osds["num_osds"], "up": osds["num_up_osds"], "in": osds["num_in_osds"]},
        "bytes": {"used": use.get("bytes_used", 0), "total": use.get("bytes_total", 0)},
        "monitors": sorted(said["quorum_names"]),
        "versions": sorted(versions),
    }
