"""Rules, pools and keys: what is missing is made, what differs is corrected, nothing is removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import configuration, pools
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPool, CephRule

from .host import POOL, Monitors, node

RULE: dict[str, Any] = {"name": "host-ssd", "failure_domain": "host", "device_class": "ssd"}
GLANCE = {"mon": "profile rbd", "osd": "profile rbd pool=images"}
READS = "profile rbd-read-only pool=images"
WANTED = pools.PoolPlan(
    rules={"host-ssd": CephRule(**RULE)},
    pools={"images": CephPool(**POOL)},
    keys={"client.glance": "key of glance"},
    caps={"client.glance": GLANCE},
)
EMPTY: dict[str, Any] = {
    "osd crush rule ls": ["replicated_rule"],
    "osd crush rule dump": [{"rule_name": "replicated_rule", "rule_id": 0}],
    "osd pool ls": [],
    "auth ls": {"auth_dump": []},
}
FOUND = {
    "pool_name": "images",
    "size": 3,
    "min_size": 2,
    "pg_num_target": 32,
    "crush_rule": 1,
    "application_metadata": {"rbd": {}},
}
WHOLE: dict[str, Any] = {
    "osd crush rule ls": ["replicated_rule", "host-ssd"],
    "osd crush rule dump": [*EMPTY["osd crush rule dump"], {"rule_name": "host-ssd", "rule_id": 1}],
    "osd pool ls": [FOUND],
    "auth ls": {"auth_dump": [{"entity": "client.glance", "key": "key of glance", "caps": GLANCE}]},
    "df": {"pools": [{"name": "images", "stats": {"stored": 0, "objects": 0}}]},
}


def converge(
    answers: dict[str, Any], *, check: bool = False, wanted: pools.PoolPlan = WANTED
) -> tuple[Monitors, Changes]:
    cluster, changes = Monitors(answers), Changes(check=check)
    pools.converge(cluster, changes, wanted)  # type: ignore[arg-type]  # what it is asked
    return cluster, changes


def test_an_empty_cluster_gets_rules_pools_and_keys_in_this_order() -> None:
    cluster, changes = converge(EMPTY)
    assert [prefix for prefix, _ in cluster.told] == [
        "osd crush rule create-replicated", "osd pool create", "osd pool set", "osd pool application enable",
        "auth import",
    ]  # fmt: skip
    made = dict(cluster.told)
    assert made["osd crush rule create-replicated"] == {
        "name": "host-ssd", "root": "default", "type": "host", "class": "ssd",
    }  # fmt: skip
    assert "pgp_num" not in made["osd pool create"], "Ceph follows pg_num by itself"
    assert "key of glance" in made["auth import"]["content"]
    assert "key of glance" not in repr(changes)


def test_a_cluster_as_planned_is_told_nothing() -> None:
    cluster, changes = converge(WHOLE)
    assert (cluster.told, changes.done) == ([], [])


def test_check_mode_tells_nothing_and_says_the_same() -> None:
    cluster, changes = converge(EMPTY, check=True)
    assert cluster.told == []
    assert changes.done == converge(EMPTY)[1].done


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("size", 2, "pool images: size 3"),
        ("min_size", 1, "pool images: min_size 2"),
        ("pg_num_target", 8, "pool images: pg_num 32"),
        ("crush_rule", 0, "pool images: crush_rule host-ssd"),
        ("application_metadata", {}, "pool images: application rbd"),
    ],
)
def test_what_differs_of_a_pool_is_corrected(key: str, value: object, said: str) -> None:
    cluster, changes = converge({**WHOLE, "osd pool ls": [{**FOUND, key: value}]})
    # A new size has Ceph change min_size by itself: that is written, too.
    assert changes.done == ([said, "pool images: min_size 2"] if key == "size" else [said])
    assert len(cluster.told) == len(changes.done)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("pools_said", [[{"name": "images", "stats": {"stored": 0, "objects": 1}}], []])
def test_a_pool_with_data_is_not_moved_to_other_disks(pools_said: object, *, check: bool) -> None:
    moved = {**WHOLE, "osd pool ls": [{**FOUND, "crush_rule": 0}], "df": {"pools": pools_said}}
    cluster = Monitors(moved)
    with pytest.raises(GroundupError, match=r"images \(replicated_rule, planned host-ssd\)") as caught:
        pools.converge(cluster, Changes(check=check), WANTED)  # type: ignore[arg-type]
    assert cluster.told == []
    assert "ceph osd crush rule create-replicated host-ssd default host ssd; ceph osd pool set images" in str(
        caught.value
    )


def test_another_number_of_copies_writes_min_size_after_it_because_ceph_changes_that_by_itself() -> None:
    cluster, _ = converge({**WHOLE, "osd pool ls": [{**FOUND, "size": 4}]})
    assert [(one["var"], one["val"]) for _, one in cluster.told] == [
        ("size", str(POOL["replicas"])),
        ("min_size", str(POOL["min_size"])),
    ]


def test_placement_groups_are_not_merged_because_a_disk_is_gone() -> None:
    assert converge({**WHOLE, "osd pool ls": [{**FOUND, "pg_num_target": 64}]})[1].done == []


def test_a_key_gets_the_rights_of_the_plan_and_no_other_key_is_taken_for_it() -> None:
    entry = WHOLE["auth ls"]["auth_dump"][0]
    wide = {"auth_dump": [{**entry, "caps": {"osd": "allow *"}}]}
    changes = converge({**WHOLE, "auth ls": wide})[1]
    assert changes.done == ["set the rights of client.glance"]
    assert changes.diffs[0]["before"] == "osd allow *\n"
    other = {"auth_dump": [{**entry, "key": "another"}]}
    with pytest.raises(GroundupError, match=r"another key for client\.glance") as caught:
        converge({**WHOLE, "auth ls": other})
    assert "key of glance" not in str(caught.value)


def cinder(*pools: str) -> dict[str, str]:
    """Return what a client may do that writes to pools, and reads images."""
    return {"mon": "profile rbd", "osd": "".join(f"profile rbd pool={one}, " for one in pools) + READS}


def living(*names: str) -> dict[str, Any]:
    """Return a cluster with these pools, whose client writes volumes."""
    entry = {"entity": "client.cinder", "key": "key of cinder", "caps": cinder("volumes")}
    return {**WHOLE, "osd pool ls": [{**FOUND, "pool_name": one} for one in names], "auth ls": {"auth_dump": [entry]}}


def writing(*names: str) -> pools.PoolPlan:
    """Return a plan whose client writes to these pools."""
    planned = {name: CephPool(**POOL | {"name": name}) for name in ("images", *names)}
    keys, caps = {"client.cinder": "key of cinder"}, {"client.cinder": cinder(*names)}
    return replace(WANTED, pools=planned, keys=keys, caps=caps)


@pytest.mark.parametrize("check", [False, True])
def test_an_empty_pool_does_not_take_the_place_of_one_that_is_used(*, check: bool) -> None:
    cluster = Monitors(living("images", "volumes"))
    with pytest.raises(GroundupError, match=r"client\.cinder uses pool volumes, .* names fast, which is not") as said:
        pools.converge(cluster, Changes(check=check), writing("fast"))  # type: ignore[arg-type]
    assert str(said.value).endswith("ceph osd pool rename volumes fast")
    assert cluster.told == []


@pytest.mark.parametrize("check", [False, True])
def test_a_pool_of_somebody_else_does_not_take_the_place_of_one_that_is_used(*, check: bool) -> None:
    cluster = Monitors(living("images", "volumes", "archive"))
    with pytest.raises(GroundupError, match=r"uses pool volumes, .* names archive, which is another") as said:
        pools.converge(cluster, Changes(check=check), writing("archive"))  # type: ignore[arg-type]
    assert str(said.value).endswith("ceph osd pool rename volumes <another name>")
    assert cluster.told == []


def test_a_pool_that_was_renamed_one_that_is_gone_and_one_more_go_to_their_client() -> None:
    rights = "set the rights of client.cinder"
    left = converge(living("images", "volumes-before", "archive"), wanted=writing("archive"))[1]
    assert left.done == [rights], "as the refusal says"
    made = "make pool {}: 3 copies, 32 placement groups, rule host-ssd"
    assert converge(living("images", "fast"), wanted=writing("fast"))[1].done == [rights]
    assert converge(living("images"), wanted=writing("volumes"))[1].done == [made.format("volumes")]
    more = converge(living("images", "volumes"), wanted=writing("volumes", "backups"))[1]
    assert more.done == [made.format("backups"), rights]


def test_a_manager_that_was_faster_than_we_with_its_own_pool_gets_our_rule() -> None:
    own = CephPool(**POOL | pools.OWN)
    cluster, changes = Monitors(WHOLE), Changes(check=False)
    made = {**FOUND, "pool_name": ".mgr", "crush_rule": 0, "pg_num_target": 1, "application_metadata": {"mgr": {}}}

    def send(prefix: str, **arguments: object) -> bytes:
        cluster.told.append((prefix, arguments))
        cluster.answers["osd pool ls"] = [FOUND, made]
        return b""

    cluster.send = send  # type: ignore[method-assign]  # of this one
    pools.converge(cluster, changes, replace(WANTED, pools={"images": CephPool(**POOL), ".mgr": own}))  # type: ignore[arg-type]
    assert changes.done[-1] == "pool .mgr: crush_rule host-ssd"


def test_a_pool_that_is_in_no_plan_stays() -> None:
    cluster, _ = converge({**WHOLE, "osd pool ls": [FOUND, {**FOUND, "pool_name": "of somebody"}]})
    assert cluster.told == []
    assert converge(WHOLE, wanted=replace(WANTED, pools={}))[1].done == []


def test_what_ceph_reads_says_where_a_host_stands_and_leaves_splitting_to_the_plan() -> None:
    text = configuration.conf(node(settings={"osd_max_backfills": "2"}))
    assert "crush_location = root=default host=storage-1 rack=r1\n" in text
    assert "osd_pool_default_pg_autoscale_mode = off\n" in text
    assert "pgp_num" not in text
    assert "[mon.storage-1]\npublic_addr = 10.0.0.1\n" in text
    assert "osd_max_backfills = 2\n" in text
    assert "[mon." not in configuration.conf(node("storage-4"))
