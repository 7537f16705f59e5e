"""The cluster as a whole, asked and converged from one monitor's host."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from .._base.changes import Changes
from . import configuration, disk, health, pools, proof
from .cluster import connected
from .model import ADMIN, CONF, entities
from .pools import Wanted


def converge(
    changes: Changes, *, ceph: Mapping[str, Any], keys: Mapping[str, str], osds: int, timeout: int
) -> dict[str, Any]:
    """Bring rules, pools and keys to the plan and wait until the cluster is whole. Raises GroundupError."""
    wanted, monitors = _wanted(ceph, keys), _monitors(ceph)
    if changes.check and not (CONF.exists() and any(disk.OSDS.glob("ceph-*"))):
        for one in (*wanted.rules, *wanted.pools, *wanted.caps):
            changes.add(f"make {one}")
        return changes.result()
    with connected(ADMIN, wanted.keys[ADMIN], monitors) as cluster:
        if not changes.check:
            # A rule names a class of devices, which is known with the first OSD of it.
            health.wait(lambda: health.down(cluster, expected=osds), "OSDs are missing", timeout=timeout)
        pools.converge(cluster, changes, wanted)
        if not changes.check:
            health.wait(lambda: health.unclean(cluster), "the cluster is not whole", timeout=timeout)
            health.wait(lambda: health.unwell(cluster), "the cluster is not well", timeout=timeout)
    return changes.result()


def verify(
    changes: Changes, *, ceph: Mapping[str, Any], keys: Mapping[str, str], osds: int, timeout: int
) -> dict[str, Any]:
    """Ask for everything the plan promises. Raises GroundupError."""
    wanted, monitors = _wanted(ceph, keys), _monitors(ceph)
    with connected(ADMIN, wanted.keys[ADMIN], monitors) as cluster:
        # It may be settling: a daemon that was just started, a slow request that ends.
        health.wait(
            lambda: (
                health.outside(cluster, monitors)
                or health.down(cluster, expected=osds)
                or health.unclean(cluster)
                or health.unwell(cluster)
            ),
            "the cluster is not well",
            timeout=timeout,
        )
        others = {one["pool_name"] for one in cluster.ask("osd pool ls", detail="detail")} - {*wanted.pools}
    mark = uuid.uuid4().hex[:12]
    for client in ceph["clients"].values():
        proof.prove(client, wanted.keys[client["name"]], monitors, list(wanted.pools), mark)
    for name in sorted(others):
        changes.warnings.append(f"pool {name} is in no plan: nothing here watches over it")
    return {"changed": False, "health": "HEALTH_OK", "proven": [one["name"] for one in ceph["clients"].values()]}


def _wanted(ceph: Mapping[str, Any], keys: Mapping[str, str]) -> Wanted:
    return Wanted(
        rules={one["name"]: one for one in ceph["rules"]},
        pools={one["name"]: one for one in (*ceph["pools"].values(), next(iter(ceph["pools"].values())) | pools.OWN)},
        keys=entities(keys),
        caps={
            name: allowed
            for name, allowed in configuration.caps(
                managers=ceph["managers"], clients={one["name"]: one["caps"] for one in ceph["clients"].values()}
            ).items()
            if name != "mon."  # in no database: monitors have it in their own data
        },
    )


def _monitors(ceph: Mapping[str, Any]) -> dict[str, str]:
    return {one["name"]: one["address"] for one in ceph["monitors"]}
