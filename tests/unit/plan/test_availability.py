"""How many machines of a group a run goes on without."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.enough import SuccessCriteria
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan


def plan_with(**machines: dict[str, Any]) -> Plan:
    """Return the plan of a lab with these groups of machines."""
    base = {"plugin": "groundup.cloud.site", "site": "unit", "domain": "unit.test", "profile": "lab"}
    groups = {"seed": {"count": 1}, "control": {"count": 3}, "worker": {"count": 2}} | machines
    networks = {"management": {"cidr": "10.0.0.0/16"}}
    return make_plan(build_site({**base, "machines": groups, "networks": networks}))


def limits(**machines: dict[str, Any]) -> dict[str, int]:
    """Return the limits of such a lab."""
    return plan_with(**machines).max_unavailable


def test_a_run_goes_on_without_one_worker_and_never_without_a_seed_or_control_host() -> None:
    assert limits() == {"seed": 0, "control": 0, "worker": 1}
    assert limits(control={"count": 3, "max_unavailable": 1})["control"] == 0


@pytest.mark.parametrize(("count", "limit"), [(1, 0), (2, 1), (19, 1), (20, 2), (105, 10)])
def test_a_tenth_of_the_workers_may_be_away_one_at_least_and_never_all(count: int, limit: int) -> None:
    assert limits(worker={"count": count})["worker"] == limit


@pytest.mark.parametrize(("written", "limit"), [(0, 0), (1, 1), (4, 4), ("0%", 0), ("50%", 2), ("49%", 1), ("100%", 4)])
def test_what_the_site_file_writes_counts_as_it_is(written: int | str, limit: int) -> None:
    assert limits(worker={"count": 4, "max_unavailable": written})["worker"] == limit


def test_machines_of_several_roles_have_the_limit_of_the_strictest() -> None:
    both = {"roles": ["worker", "storage"], "count": 4}
    assert limits(worker=both)["worker"] == 0
    assert limits(worker={"roles": ["worker", "control"], "count": 3, "max_unavailable": 2})["worker"] == 0


@pytest.mark.parametrize(("written", "machines"), [(3, 3), ("75%", 3), ("76%", 4), ("1%", 1), ("0%", 0), (0, 0)])
def test_enough_of_a_group_is_a_number_or_a_share_rounded_up_and_the_rest_may_be_unavailable(
    written: int | str, machines: int
) -> None:
    plan = plan_with(worker={"count": 4, "enough": {"minimum": written}})
    assert plan.enough["worker"].machines == machines
    assert plan.max_unavailable["worker"] == 4 - machines
    both = plan_with(worker={"count": 4, "enough": {"minimum": written}, "max_unavailable": 1})
    assert both.max_unavailable["worker"] == 1


def test_of_a_rack_with_fewer_all_are_needed_and_without_criteria_every_machine_is_waited_for() -> None:
    worker = {"count": 5, "racks": ["r1", "r2"], "enough": {"minimum_per_rack": 3, "critical": ["worker-4"]}}
    found = plan_with(worker=worker).enough
    assert found == {
        "worker": SuccessCriteria(size=5, machines=0, racks={"r1": (3, 3), "r2": (2, 2)}, critical=("worker-4",)),
    }
    assert plan_with().enough == {}
    assert plan_with(control={"count": 3, "enough": {"minimum": 1}}).enough == {}, "never without one"
