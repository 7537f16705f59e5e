"""Converge and verify the whole cluster, from one monitor's host."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._plan.ceph import CephPlan
from . import configuration, disk, drain, faults, flags, health, members, metrics, pools, proof
from .cluster import CephCluster, connected
from .model import ADMIN, CONF, entities, rights, watching
from .pools import PoolPlan


def converge(changes: Changes, *, ceph: CephPlan, keys: Mapping[str, str], osds: int, timeout: int) -> dict[str, Any]:
    """Converge rules, pools, keys, metrics; wait until the cluster is clean and healthy. Raises GroundupError."""
    wanted, monitors = _wanted(ceph, keys), watching(ceph)
    if changes.check and not (CONF.exists() and any(disk.OSDS.glob("ceph-*"))):
        for one in (*wanted.rules, *wanted.pools, *wanted.caps):
            changes.add(f"make {one}")
        if ceph.metrics:
            changes.add(metrics.SWITCHING_ON)
        return changes.result()
    with connected(ADMIN, wanted.keys[ADMIN], monitors) as cluster:
        flags.put_back(cluster, changes)
        members.refuse_leftover(cluster, ceph.locations, monitors)
        if not changes.check:
            # A rule needs its device class, which exists once there is an OSD of it.
            _wait(cluster, lambda: health.down(cluster, expected=osds), "OSDs are missing", timeout=timeout)
        _refuse_misplaced(cluster, ceph.locations)
        pools.converge(cluster, changes, wanted)
        metrics.converge(cluster, changes, wanted=ceph.metrics)
        if not changes.check:
            _wait(cluster, lambda: health.unclean(cluster), "the cluster is not whole", timeout=timeout)
            _wait(cluster, lambda: health.unwell(cluster), "the cluster is not well", timeout=timeout)
            if ceph.metrics:  # managers start again for it
                _wait(cluster, lambda: metrics.silent(cluster), "monitoring learns nothing of Ceph", timeout=timeout)
    return changes.result()


def verify(changes: Changes, *, ceph: CephPlan, keys: Mapping[str, str], osds: int, timeout: int) -> dict[str, Any]:
    """Verify monitors, OSDs, placement groups, health, pools, locations and every key. Raises GroundupError."""
    wanted, monitors = _wanted(ceph, keys), watching(ceph)
    with connected(ADMIN, wanted.keys[ADMIN], monitors, timeout=timeout) as cluster:
        members.refuse_leftover(cluster, ceph.locations, monitors)

        def pending() -> str:
            return (
                health.outside(cluster, monitors)
                or health.down(cluster, expected=osds)
                or health.unclean(cluster)
                or health.unwell(cluster)
                or (metrics.silent(cluster) if ceph.metrics else "")
            )

        # Wait, as the cluster may be settling: a daemon has just started, or a slow request ends.
        _wait(cluster, pending, "the cluster is not well", timeout=timeout)
        there = {one["pool_name"] for one in cluster.ask("osd pool ls", detail="detail")}
        if absent := [name for name in wanted.pools if name not in there]:
            raise faults.pools_missing(absent, ceph)
        _refuse_misplaced(cluster, ceph.locations)
        for name in drain.drained(cluster):
            changes.warnings.append(
                f"{name} is drained and takes no data; to have it take them again: ansible-playbook "
                f"groundup.cloud.undrain -e machine={name}"
            )
    mark = uuid.uuid4().hex[:12]
    for client in ceph.clients.values():
        proof.prove(client, wanted.keys[client.name], monitors, list(wanted.pools), mark)
    for name in sorted(there - {*wanted.pools}):
        changes.warnings.append(f"pool {name} is in no plan: nothing here watches over it")
    return {"changed": False, "health": "HEALTH_OK", "proven": [one.name for one in ceph.clients.values()]}


def _refuse_misplaced(cluster: CephCluster, locations: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse CRUSH locations other than planned: Ceph does not move a host with OSDs. Raises GroundupError."""
    found = drain.places(cluster)
    moves: dict[str, None] = {}  # each command once, also for a rack with several hosts
    for number, host in found["host"].items():
        place = locations.get(host, {})
        for kind, moved in (("rack", host), ("room", place.get("rack"))):
            if kind in place and found[kind].get(number) != place[kind]:
                moves[f"ceph osd crush move {moved} root={pools.ROOT} {kind}={place[kind]}"] = None
    if moves:
        raise GroundupError(
            "the CRUSH map has storage hosts in other racks or rooms than the site file",
            where="layer storage: ceph osd tree, on a monitor host; machines and racks of the site file",
            why="copies are kept apart by the map: a rack that is none there may take all of them with it, or none",
            remedy="write it as it was; or on a monitor host, one after the other, each when all PGs are active+clean "
            "(data move): " + "; ".join(moves),
        )


def _wait(cluster: CephCluster, pending: Callable[[], str], what: str, *, timeout: float) -> None:
    """Wait until nothing is ``pending``. Raises GroundupError with the cluster's failure cards, else with ``what``."""
    if wait_until(pending, timeout=timeout):
        if found := faults.cards(cluster):
            raise faults.text(found)
        health.wait(pending, what, timeout=0)


def _wanted(ceph: CephPlan, keys: Mapping[str, str]) -> PoolPlan:
    return PoolPlan(
        rules={one.name: one for one in ceph.rules},
        pools={one.name: one for one in (*ceph.pools.values(), replace(next(iter(ceph.pools.values())), **pools.OWN))},
        keys=entities(keys),
        caps={
            name: allowed
            for name, allowed in configuration.caps(managers=ceph.managers, clients=rights(ceph)).items()
            if name != "mon."  # not in the auth database: monitors have it in their data directory
        },
    )
