"""Converge CRUSH rules, pools and keys to the plan."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._plan.ceph import CephPool, CephRule
from . import configuration
from .cluster import CephCluster

# Ceph's own, which Ceph would create with the default rule.
OWN: dict[str, Any] = {"name": ".mgr", "application": "mgr", "pg_num": 1}
ROOT = "default"
_NAMED = re.compile(r"\bpool=([^\s,]+)")  # in capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """The planned rules, pools and keys."""

    rules: Mapping[str, CephRule]  # by name
    pools: Mapping[str, CephPool]  # by name
    keys: Mapping[str, str] = field(repr=False)  # by entity
    caps: Mapping[str, Mapping[str, str]]  # capabilities by entity


def converge(cluster: CephCluster, changes: Changes, wanted: PoolPlan) -> None:
    """Create missing rules, pools and keys, and correct pools and rights; remove nothing. Raises GroundupError."""
    there = found(cluster)
    known = {one["entity"]: one for one in cluster.ask("auth ls")["auth_dump"]}
    _refuse_move(cluster, wanted, there)
    _refuse_swap(wanted, there, known)
    _rules(cluster, changes, wanted)
    numbers = {one["rule_name"]: one["rule_id"] for one in cluster.ask("osd crush rule dump")}
    for pool in wanted.pools.values():
        _pool(cluster, changes, pool, there.get(pool.name), numbers)
    own = wanted.pools.get(OWN["name"])
    if own and own.name not in there and not changes.check:
        # A manager that has just started may have created it meanwhile, with the default rule.
        _pool(cluster, changes, own, found(cluster)[own.name], numbers)
    _keys(cluster, changes, wanted, known)


def found(cluster: CephCluster) -> dict[str, Any]:
    """Return the cluster's pools by name."""
    return {one["pool_name"]: one for one in cluster.ask("osd pool ls", detail="detail")}


def _refuse_move(cluster: CephCluster, wanted: PoolPlan, there: Mapping[str, Any]) -> None:
    """Refuse to change the rule of a pool with data (Ceph's own is small), which would move. Raises GroundupError."""
    names = {one["rule_id"]: one["rule_name"] for one in cluster.ask("osd crush rule dump")}
    ruled = {name: str(names.get(one["crush_rule"])) for name, one in there.items() if name != OWN["name"]}
    other = [pool for name, pool in wanted.pools.items() if name in ruled and ruled[name] != pool.rule]
    if not other:
        return
    empty = {one["name"] for one in cluster.ask("df")["pools"] if not one["stats"]["objects"]}
    if moved := [pool for pool in other if pool.name not in empty]:
        rules = [wanted.rules[name] for name in dict.fromkeys(pool.rule for pool in moved)]
        by_hand = [
            *(f"osd crush rule create-replicated {one.name} {ROOT} {one.failure_domain} {one.device_class}"
              for one in rules),
            *(f"osd pool set {pool.name} crush_rule {pool.rule}" for pool in moved),
        ]  # fmt: skip
        listed = ", ".join(f"{pool.name} ({ruled[pool.name]}, planned {pool.rule})" for pool in moved)
        raise GroundupError(
            f"pools hold data by another rule than the plan's: {listed}",
            where="layer storage; storage.pools, storage.failure_domain and hardware of the site file",
            why="all of it would move at once, may find no room, and writes would stop; a pool without device_class is "
            "planned on the fastest class that any storage host has",
            remedy="write device_class (storage.pools.<purpose>) and failure_domain as they were; or, with room for "
            "all of it, by hand on a monitor host: " + "; ".join(f"ceph {one}" for one in by_hand),
        )


def _refuse_swap(wanted: PoolPlan, there: Collection[str], known: Mapping[str, Any]) -> None:
    """Refuse to replace an existing pool by another in a key's rights. Raises GroundupError."""
    for entity, caps in wanted.caps.items():
        before, after = (set(_NAMED.findall(of.get("osd", ""))) for of in (known.get(entity, {}).get("caps", {}), caps))
        lost, others = sorted((before - after) & {*there}), sorted(after - before)
        if lost and others:
            new = [name for name in others if name not in there]
            what = "which is not there" if new else "which is another"
            raise GroundupError(
                f"{entity} uses pool {', '.join(lost)}, and the site file names {', '.join(new or others)}, {what}",
                where="layer storage; storage.pools.<purpose>.name of the site file",
                why="clients would see another pool, and lose their rights to what they wrote",
                remedy="write the name as it was; or rename the pool, on a monitor host, and run this again: "
                f"ceph osd pool rename {lost[0]} {new[0] if new else '<another name>'}",
            )


def _rules(cluster: CephCluster, changes: Changes, wanted: PoolPlan) -> None:
    known = set(cluster.ask("osd crush rule ls"))
    for name, rule in wanted.rules.items():
        if name not in known and changes.add(f"make rule {name}"):
            cluster.send(
                "osd crush rule create-replicated",
                name=name, root=ROOT, type=rule.failure_domain, **{"class": rule.device_class},
            )  # fmt: skip


def _pool(
    cluster: CephCluster,
    changes: Changes,
    pool: CephPool,
    found: Mapping[str, Any] | None,
    numbers: Mapping[str, int],
) -> None:
    name = pool.name
    if found is None:
        own: dict[str, Any] = {"rule": pool.rule, "pg_num": pool.pg_num, "autoscale_mode": "off"} if pool.rule else {}
        placed = f"{pool.pg_num} placement groups, rule {pool.rule}" if own else "as the cluster places them"
        if changes.add(f"make pool {name}: {pool.replicas} copies, {placed}"):
            cluster.send(
                "osd pool create",
                pool=name, pool_type="replicated", size=pool.replicas, yes_i_really_mean_it=True, **own,
            )  # fmt: skip
            cluster.send("osd pool set", pool=name, var="min_size", val=str(pool.min_size))
            cluster.send("osd pool application enable", pool=name, app=pool.application)
        return
    # When size changes, Ceph sets min_size itself (1 for 2 copies), so always write min_size after it.
    resized = found["size"] != pool.replicas
    for key, number in (("size", pool.replicas), ("min_size", pool.min_size)):
        if resized or found[key] != number:
            _set(cluster, changes, name, key, str(number), old=found[key])
    # Never reduce: this merges groups under load, and the planned number also drops while an OSD is repaired.
    if found["pg_num_target"] < pool.pg_num:
        _set(cluster, changes, name, "pg_num", str(pool.pg_num), old=found["pg_num_target"])
    if found["crush_rule"] != numbers.get(pool.rule):
        _set(cluster, changes, name, "crush_rule", pool.rule, old=found["crush_rule"])
    if pool.application not in found["application_metadata"] and changes.add(
        f"pool {name}: application {pool.application}"
    ):
        cluster.send("osd pool application enable", pool=name, app=pool.application)


def _set(cluster: CephCluster, changes: Changes, pool: str, key: str, value: str, *, old: object) -> None:
    if changes.add(
        f"pool {pool}: {key} {value}", name=f"pool {pool}", before=f"{key} {old}\n", after=f"{key} {value}\n"
    ):
        cluster.send("osd pool set", pool=pool, var=key, val=value)


def _keys(cluster: CephCluster, changes: Changes, wanted: PoolPlan, found: Mapping[str, Any]) -> None:
    """Import missing keys and set their capabilities. Raises GroundupError for a key that differs."""
    for entity, caps in wanted.caps.items():
        known = found.get(entity)
        if known and known["key"] != wanted.keys[entity]:
            raise GroundupError(
                f"the cluster has another key for {entity} than the secrets store of this site",
                where=f"the cluster; ceph/{entity} of the secrets store",
                why="whoever runs by the cluster's would be cut off at once by ours",
                remedy="restore the store the cluster was made with; if nobody uses the key any more: "
                f"ceph auth rm {entity}, then run this again",
            )
        if known and known["caps"] == dict(caps):
            continue
        before = "".join(f"{kind} {what}\n" for kind, what in (known["caps"] if known else {}).items())
        after = "".join(f"{kind} {what}\n" for kind, what in caps.items())
        said = f"{'set the rights of' if known else 'import the key of'} {entity}"
        if changes.add(said, name=entity, before=before, after=after):
            keyring = configuration.keyring({entity: wanted.keys[entity]}, {entity: caps})
            cluster.send("auth import", content=keyring)
