"""How the records of two runs of the cloud are judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.ci.bench import cloud, hypervisor, rollout
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan

SECONDS = {
    "mariadb": 20.0, "rabbitmq": 18.0, "memcached": 3.0, "keystone": 45.0, "placement": 41.0, "glance": 42.0,
    "neutron": 47.0, "nova": 40.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def plan() -> Plan:
    return site_plan(cloud.ROOT / "inventories/cloud/site.yml")


def play(name: str, *, seconds: float, cpu: float, tasks: dict[str, int], changed: int = 0) -> dict[str, Any]:
    return {"name": name, "seconds": seconds, "cpu_seconds": cpu, "tasks": tasks, "changed": {"localhost": changed}}


def record(*, rollout: float, cpu: float, tasks: int, changed: int = 0) -> dict[str, Any]:
    """Return what the callback timeline writes."""
    hosts = {"hypervisor-1": tasks, "hypervisor-2": 1}
    return {
        "seconds": 300.0,
        "cpu_seconds": 30.0,
        "plays": [
            play("Host", seconds=9, cpu=9, tasks={"hypervisor-1": 9}),
            play("OpenStack", seconds=rollout, cpu=8, tasks={"localhost": 2}, changed=changed),
            play("Hypervisor", seconds=9, cpu=cpu, tasks={"hypervisor-1": 1, "hypervisor-2": 1}),
            play("Hypervisors in the cloud", seconds=9, cpu=cpu, tasks=hosts),
        ],
    }


def judged(plan: Plan, first: dict[str, Any], again: dict[str, Any], **options: Any) -> dict[str, cloud.Figure]:
    found = cloud.figures(plan, first, again, SECONDS, **({"slower": 1.0, "wall": False} | options))
    return {one.what: one for one in found}


def test_the_rollout_is_compared_with_the_releases_that_wait_for_each_other(plan: Plan) -> None:
    found = judged(plan, record(rollout=159.6, cpu=0.3, tasks=4), record(rollout=3, cpu=0.2, tasks=3))
    ratio = found["rollout / mariadb + keystone + neutron + nova"]
    assert ratio.measured == pytest.approx(159.6 / 152)
    assert not [one for one in found.values() if one.missed and one.what != "unchanged run: controller CPU-s"]


def test_what_is_above_its_bound_is_missed_and_seconds_only_when_they_decide(plan: Plan) -> None:
    runs = record(rollout=200, cpu=3.0, tasks=12), record(rollout=3, cpu=0.5, tasks=6, changed=1)
    missed = {name for name, one in judged(plan, *runs).items() if one.missed}
    assert missed == {
        "rollout / mariadb + keystone + neutron + nova",
        "hypervisors, first: tasks a host",
        "hypervisors, unchanged: tasks a host",
        "unchanged run: changed",
        "unchanged run: controller CPU-s",
    }
    assert judged(plan, *runs, wall=True)["unchanged run: seconds"].missed
    assert not judged(plan, *runs, slower=4.0)["unchanged run: controller CPU-s"].missed


def test_tasks_of_other_layers_on_the_same_hosts_do_not_count(plan: Plan) -> None:
    found = judged(plan, record(rollout=150, cpu=0.3, tasks=4), record(rollout=3, cpu=0.1, tasks=2))
    assert found["hypervisors, first: tasks a host"].measured == 5


def test_more_hypervisors_are_the_only_difference_of_the_site(tmp_path: Path) -> None:
    site = cloud.ROOT / "inventories/cloud/site.yml"
    assert hypervisor.enlarged(site, tmp_path / "site.yml") == ["hypervisor-3", "hypervisor-4", "hypervisor-5"]


def limited(*hosts: str, cpu: float) -> hypervisor.Run:
    """Return a run of the layer for some hosts."""
    tasks = {"localhost": 3, **dict.fromkeys(hosts, 2)}
    return hypervisor.Run(list(hosts), {"plays": [play("Hypervisor", seconds=9, cpu=cpu, tasks=tasks)]})


def test_what_the_plays_cost_by_themselves_is_no_part_of_a_host() -> None:
    found = hypervisor.figures(limited("one", cpu=2.0), limited("two", "three", cpu=2.5), "new", tasks=12, cpu=1.0)
    assert [(one.measured, one.missed) for one in found] == [(2, False), (0.5, False), (2.0, False), (0, False)]


def test_a_task_on_another_host_is_missed() -> None:
    more = limited("two", "three", cpu=4.0)
    more.hosts.remove("three")
    more.hosts.append("four")
    found = hypervisor.figures(limited("one", cpu=2.0), more, "new", tasks=12, cpu=1.0)
    assert [one.what for one in found if one.missed] == [
        "new: controller CPU-s a host",
        "new: tasks on all other hosts",
    ]


def test_the_data_of_a_site_that_is_no_lab_are_not_removed(plan: Plan) -> None:
    rollout.refuse_real_sites(plan)
    with pytest.raises(SystemExit, match=r"edge-1 of .* is no lab host"):
        rollout.refuse_real_sites(site_plan(cloud.ROOT / "inventories/edge/site.yml"))
