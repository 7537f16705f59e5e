"""Hosts are patched group by group, within the limit of each, what carries the others last."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import order

from .conftest import PLAN, site


def test_workers_come_first_and_the_seed_last() -> None:
    found = order.batches(PLAN, PLAN.hosts)
    groups = [PLAN.hosts[batch[0]].group for batch in found]
    assert list(dict.fromkeys(groups)) == ["worker", "hypervisor", "storage", "control", "seed"]
    assert sorted(name for batch in found for name in batch) == sorted(PLAN.hosts), "each once"


def test_no_batch_is_larger_than_its_group_may_miss_and_none_mixes_groups() -> None:
    assert PLAN.max_unavailable["hypervisor"] == 2
    sizes: dict[str, list[int]] = {}
    for batch in order.batches(PLAN, PLAN.hosts):
        (group,) = {PLAN.hosts[name].group for name in batch}
        sizes.setdefault(group, []).append(len(batch))
    assert sizes["hypervisor"] == [2] * 12 + [1]
    assert sizes["control"] == [1, 1, 1], "none may be missing while a run goes on: one at a time"
    assert sizes["storage"] == [1, 1, 1]


@pytest.mark.parametrize(("limit", "batches"), [(3, [3, 1]), ("50%", [2, 2]), (0, [1, 1, 1, 1])])
def test_the_site_file_sets_the_limit(limit: int | str, batches: list[int]) -> None:
    plan = site(
        control={"count": 1}, seed={"count": 1}, hypervisor={"count": 4, "max_unavailable": limit}
    )  # fmt: skip
    hosts = [name for name, host in plan.hosts.items() if host.group == "hypervisor"]
    assert [len(batch) for batch in order.batches(plan, hosts)] == batches


def test_a_host_that_has_nothing_to_patch_is_not_in_the_order() -> None:
    names = list(PLAN.hosts)
    assert order.batches(PLAN, []) == []
    assert [*order.batches(PLAN, names[:1])] == [(names[0],)]


def test_hosts_in_maintenance_come_before_the_others_of_their_group() -> None:
    workers = [name for name, host in PLAN.hosts.items() if host.group == "worker"]
    found = order.batches(PLAN, PLAN.hosts, first=[workers[2]])
    assert [name for batch in found for name in batch if name in workers] == [workers[2], *workers[:2]]
    assert found[0] == (workers[2],), "it is missing already: no other one goes with it"


def test_a_host_in_maintenance_comes_before_any_other_and_who_holds_the_address_comes_last() -> None:
    control = [name for name, host in PLAN.hosts.items() if host.group == "control"]
    found = order.batches(PLAN, PLAN.hosts, first=[control[1]], last=[control[0]])
    assert found[0] == (control[1],), "it is missing already"
    assert [batch for batch in found if batch[0] in control] == [(control[1],), (control[2],), (control[0],)]


def test_who_holds_the_address_comes_last_of_all_racks_and_groups() -> None:
    plan = site(control={"count": 1}, more={"count": 2, "roles": ["control"]}, seed={"count": 1})
    control = [name for name, host in plan.hosts.items() if "control" in host.roles]
    assert order.batches(plan, control, last=["control-1"])[-1] == ("control-1",)
    for name, rack in zip(control, ("a", "a", "b"), strict=True):
        plan.hosts[name] = replace(plan.hosts[name], rack=rack, group="control")
    assert order.batches(plan, control, last=["control-1"])[-1] == ("control-1",)


def test_a_batch_is_of_one_rack() -> None:
    plan = site(control={"count": 1}, seed={"count": 1}, hypervisor={"count": 4, "max_unavailable": 2})
    hosts = [name for name, host in plan.hosts.items() if host.group == "hypervisor"]
    for name, rack in zip(hosts, ("a", "a", "a", "b"), strict=True):
        plan.hosts[name] = replace(plan.hosts[name], rack=rack)
    assert [len(batch) for batch in order.batches(plan, hosts)] == [2, 1, 1]


def test_storage_hosts_are_patched_one_at_a_time_whatever_may_be_missing() -> None:
    plan = site(control={"count": 1}, seed={"count": 1}, storage={"count": 4, "max_unavailable": 2})
    hosts = [name for name, host in plan.hosts.items() if host.group == "storage"]
    assert [len(batch) for batch in order.batches(plan, hosts)] == [1, 1, 1, 1]


def test_a_batch_has_no_room_when_hosts_of_its_group_are_missing_already() -> None:
    by_group = {group: [n for n, h in PLAN.hosts.items() if h.group == group] for group in ("hypervisor", "control")}
    hosts, control = by_group["hypervisor"], by_group["control"]
    assert order.crowded(PLAN, hosts[:2], []) == {}
    assert order.crowded(PLAN, hosts[:2], [hosts[1], control[0]]) == {}, "one of the batch is no other one"
    assert order.crowded(PLAN, hosts[:1], [hosts[5]]) == {}, "two may be missing"
    assert order.crowded(PLAN, hosts[:2], [hosts[5]]) == {"hypervisor": [hosts[5]]}
    assert order.crowded(PLAN, control[:1], []) == {}
    assert order.crowded(PLAN, control[:1], control[2:]) == {"control": control[2:]}
