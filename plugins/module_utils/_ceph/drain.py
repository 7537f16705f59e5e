"""Drain a storage host's data to other hosts, and undrain it. Old copies serve until the new ones are complete."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .._base.changes import Changes
from .._base.consent import Reason
from .._base.errors import GroundupError
from .._base.wait import wait_until
from .._plan.ceph import CephPlan, CephPool
from . import health, members
from .cluster import CephCluster
from .members import DRAINED, Daemon, StorageMember, listed

SETTLES = 30.0  # seconds for placement groups to follow a new map
RETRIES = 45.0  # seconds until "toofull" counts: Ceph retries a full disk after 30


def drain(
    cluster: CephCluster,
    changes: Changes,
    name: str,
    *,
    ceph: CephPlan,
    timeout: float,
    retries: float = RETRIES,
) -> None:
    """Set the CRUSH weights of the OSDs of ``name`` to 0, and wait until they are empty. Raises GroundupError."""
    found = members.member(cluster, name)
    members.refuse("drain", name, _against(cluster, found, ceph), ())
    weighing = [one for one in found.osds if one.weight]
    if weighing:
        before = {**_recorded(cluster, name), **{str(one.number): one.weight for one in weighing}}
        if not changes.check:
            cluster.send("config-key set", key=f"{DRAINED}{name}", val=json.dumps(before))
    for one in weighing:
        if changes.add(f"{one}: copy {_gib(one.used)} in {one.groups} placement groups to other hosts"):
            _reweight(cluster, one.number, 0.0)
    if not changes.check:
        numbers = [one.number for one in found.osds]

        def pending() -> str:
            if wait_until(lambda: _stuck(health.unclean(cluster)), timeout=retries):
                raise _still(name, health.unclean(cluster))
            return undrained(cluster, numbers)

        health.wait(pending, f"{name} is not empty", timeout=timeout)


def undrain(cluster: CephCluster, changes: Changes, name: str, *, timeout: float) -> None:
    """Restore the CRUSH weights of a host that a verb of ours drained. Raises GroundupError."""
    before, found = _recorded(cluster, name), members.member(cluster, name).osds
    if not found or (not before and not all(one.weight for one in found)):
        raise GroundupError(
            f"no verb drained {name}" if found else f"the cluster knows no OSD of {name}",
            where=f"layer storage, {name}; ceph osd df tree, on a monitor host",
            why="a weight that somebody else took is not known here, and nothing is given back",
            remedy="ceph osd crush reweight osd.<number> <TiB>"
            if found
            else f"-e machine=NAME, one of {listed(sorted(members.hosts(cluster)))}",
        )
    for one in found:
        weight = before.get(str(one.number))
        if weight and weight != one.weight and changes.add(f"{one}: take data again"):
            _reweight(cluster, one.number, weight)
    if before and not changes.check:
        # Placement groups start to move a moment later.
        wait_until(lambda: not any(one.groups for one in members.member(cluster, name).osds), timeout=SETTLES)
        health.wait(lambda: health.unclean(cluster), "data are not where they are to be", timeout=timeout)
        cluster.send("config-key rm", key=f"{DRAINED}{name}")


def undrained(cluster: CephCluster, numbers: Collection[int]) -> str:
    """Return why the OSDs cannot be removed yet: data on them, or unclean placement groups; "" when they can."""
    return members.unsafe(cluster, numbers) or health.unclean(cluster)


def drained(cluster: CephCluster) -> list[str]:
    """Return the hosts that a verb of ours drained."""
    return sorted(members.records(cluster, DRAINED))


def _against(cluster: CephCluster, found: StorageMember, ceph: CephPlan) -> Iterator[Reason]:
    if not found.osds:
        yield Reason(text="the cluster knows no OSD of it")
        return
    if not any(one.weight for one in found.osds):
        return  # drained already, or a killed drain continues
    if unclean := health.unclean(cluster):
        yield Reason(text=f"not all data have all their copies now: {unclean}")
    yield from _without_domains(cluster, found, ceph)
    yield from _without_room(cluster, found, ceph)


def _without_domains(cluster: CephCluster, found: StorageMember, ceph: CephPlan) -> Iterator[Reason]:
    """Yield pools with more copies than the remaining hosts have failure domains."""
    rules = {one.name: one for one in ceph.rules}
    at = places(cluster)
    for name, pools in _by_rule(ceph).items():
        rule, replicas = rules[name], max(pool.replicas for pool in pools)
        domains = at[rule.failure_domain]
        have = {domains.get(one.number, str(one)) for one in _staying(found, rule.device_class)}
        if len(have) < replicas and any(one.device_class == rule.device_class for one in found.osds):
            yield Reason(
                text=f"{replicas} copies of pools {listed([pool.name for pool in pools])}, no two in one "
                f"{rule.failure_domain}, and OSDs in {len(have)} would stay"
            )


def _without_room(cluster: CephCluster, found: StorageMember, ceph: CephPlan) -> Iterator[Reason]:
    """Yield device classes with OSDs that would be near full after the move, by their share of the weight."""
    ratio = float(cluster.ask("osd dump")["nearfull_ratio"])
    for kind in sorted({one.device_class for one in found.osds}):
        staying = _takers(cluster, found, ceph, kind)
        moves = sum(own.used for own in found.osds if own.device_class == kind)
        weight = sum(one.weight for one in staying)
        near = [one for one in staying if one.used + moves * one.weight / weight > one.size * ratio]
        if near:
            named = listed([f"{one} on {one.host}" for one in near])
            yield Reason(text=f"{_gib(moves)} on {kind} would move, and {named} would be near full ({ratio:.0%})")


def _staying(found: StorageMember, kind: str) -> list[Daemon]:
    """Return other hosts' OSDs of one device class that are up and have a weight."""
    return [one for one in found.others if one.device_class == kind and one.weight and one.state == "up"]


def _takers(cluster: CephCluster, found: StorageMember, ceph: CephPlan, kind: str) -> list[Daemon]:
    """Return the OSDs that a leaving host's data move to: in its rack (room) if each has a copy of everything."""
    staying, at, by_rule = _staying(found, kind), places(cluster), _by_rule(ceph)
    for rule in ceph.rules:
        domain = at[rule.failure_domain]
        have = {domain.get(one.number) for one in staying}
        copies = max((pool.replicas for pool in by_rule.get(rule.name, ())), default=0)
        if rule.device_class == kind and rule.failure_domain not in ("osd", "host") and len(have) == copies:
            own = {domain.get(one.number) for one in found.osds}
            staying = [one for one in staying if domain.get(one.number) in own] or staying
    return staying


def _stuck(states: str) -> bool:
    """Return whether copies find no room, and no copy is under way that would free some."""
    return "toofull" in states and "backfilling" not in states and "recovering" not in states


def _still(name: str, states: str) -> GroundupError:
    return GroundupError(
        f"the drain of {name} stands still: {states}",
        where=f"layer storage, {name}; ceph osd df tree, on a monitor host",
        why="clients see: nothing, old copies serve; disks that stay have no room for new ones (backfillfull_ratio)",
        remedy="add OSDs or delete what is not needed, and run it again: it goes on. Or have the host take data again: "
        f"ansible-playbook groundup.cloud.undrain -e machine={name}",
    )


def _by_rule(ceph: CephPlan) -> dict[str, list[CephPool]]:
    found: dict[str, list[CephPool]] = {}
    for pool in ceph.pools.values():
        found.setdefault(pool.rule, []).append(pool)
    return found


def places(cluster: CephCluster) -> dict[str, dict[int, str]]:
    """Return the names of all OSDs' hosts, racks and rooms, by kind and OSD number."""
    nodes = {one["id"]: one for one in cluster.ask("osd tree")["nodes"]}
    found: dict[str, dict[int, str]] = {kind: {} for kind in ("osd", "host", "rack", "room")}

    def under(node: Mapping[str, Any]) -> Iterator[int]:
        for child in node.get("children", ()):
            yield from ([child] if child >= 0 else under(nodes[child]))

    for node in nodes.values():
        if node["type"] in found:
            found[node["type"]] |= dict.fromkeys(under(node), str(node["name"]))
    return found


def _recorded(cluster: CephCluster, name: str) -> dict[str, float]:
    text = members.records(cluster, DRAINED).get(name)
    return dict(json.loads(text)) if text else {}


def _reweight(cluster: CephCluster, number: int, weight: float) -> None:
    cluster.send("osd crush reweight", name=f"osd.{number}", weight=weight)


def _gib(size: int) -> str:
    return f"{size / 1024**3:.1f} GiB"
