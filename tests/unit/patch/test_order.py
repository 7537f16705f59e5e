"""Hosts are patched group by group, within the limit of each, what carries the others last."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import order
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan


def site(**machines: dict[str, Any]) -> Plan:
    given = {name: {"provisioner": "existing", **one} for name, one in machines.items()}
    networks = {"management": {"cidr": "10.96.0.0/16"}}
    written = {
        "plugin": "groundup.cloud.site",
        "site": "s",
        "domain": "s.test",
        "profile": "rack",
        "networks": networks,
    }
    return make_plan(build_site({**written, "machines": given}))


PLAN = site(
    seed={"count": 1}, control={"count": 3}, storage={"count": 3}, hypervisor={"count": 25}, worker={"count": 3},
)  # fmt: skip


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
