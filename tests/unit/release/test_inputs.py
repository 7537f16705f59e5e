"""A site file that changes while a step is open: what the step goes by is refused by field, with what to do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import run as verb
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.journal import OPENSTACK

from .cloud import FROM, HYPERVISORS, MIGRATED, TO, Cloud, KilledRun, plan_of, run

SITE = "cloud"
SMALLER = [one for one in MIGRATED if one != "heat"]
NAMED = "heat: is not in openstack.services, and its pods keep 2026.1"


def asked(plan: Plan) -> verb.ReleaseUpgrade:
    return verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="")


def killed(cloud: Cloud, plan: Plan, *, after: int) -> None:
    cloud.lives = after
    with pytest.raises(KilledRun):
        run(cloud, plan)
    cloud.lives = 1000
    assert journal.under_way(SITE, OPENSTACK)


@pytest.mark.parametrize("after", [2, 5])
def test_a_service_that_leaves_the_site_file_in_the_middle_is_named_with_what_to_do(
    cloud: Cloud, plan: Plan, after: int
) -> None:
    killed(cloud, plan, after=after)
    done = list(cloud.done)
    with pytest.raises(GroundupError, match=NAMED) as caught:
        run(cloud, plan_of(services=SMALLER))
    assert "write it there again" in str(caught.value)
    assert '{"rollout_remove": ["heat"]}' in str(caught.value)
    assert cloud.done == done
    run(cloud, plan)
    assert cloud.running["heat"] == TO


def test_a_service_that_left_when_it_was_new_holds_up_nothing(cloud: Cloud, plan: Plan) -> None:
    killed(cloud, plan, after=5)
    cloud.running["heat"] = TO
    run(cloud, plan_of(services=SMALLER))
    assert journal.under_way(SITE, OPENSTACK) is None


def test_a_service_that_left_before_the_step_is_named_before_it_begins_and_by_verify(cloud: Cloud, plan: Plan) -> None:
    with pytest.raises(GroundupError, match=NAMED):
        run(cloud, plan_of(services=SMALLER))
    assert (cloud.done, journal.under_way(SITE, OPENSTACK)) == ([], None)
    run(cloud, plan)
    cloud.running["heat"] = FROM
    with pytest.raises(GroundupError, match=r"heat: is not in openstack\.services, and keeps the former release"):
        asked(plan_of(services=SMALLER)).verify()


def test_a_service_that_leaves_while_the_run_goes_on_keeps_the_step_open(cloud: Cloud, plan: Plan) -> None:
    """Each step of the playbook reads the site file anew."""
    asked(plan).begin()
    cloud.roll(plan_of(services=SMALLER))
    cloud.hypervisors = dict.fromkeys(HYPERVISORS, TO)
    cloud.since = dict.fromkeys(cloud.since, journal.opened(SITE, OPENSTACK).begun)
    cloud.data = "74"
    with pytest.raises(GroundupError, match=r"heat: is not in openstack\.services"):
        asked(plan_of(services=SMALLER)).end()
    assert journal.under_way(SITE, OPENSTACK)


def test_a_service_that_is_added_waits_for_the_end_of_the_step(cloud: Cloud, plan: Plan) -> None:
    """Its names, its certificate and its way through HAProxy are other layers'."""
    del cloud.running["heat"]
    with pytest.raises(GroundupError, match=r"heat: is in openstack\.services, and was never rolled out") as caught:
        run(cloud, plan)
    assert "set openstack.release back, and run the playbook groundup.cloud.site first" in str(caught.value)
    assert (cloud.done, journal.under_way(SITE, OPENSTACK)) == ([], None)
    killed(cloud, plan_of(services=SMALLER), after=5)
    with pytest.raises(GroundupError, match=r"openstack\.services has heat since the step began: take that out"):
        run(cloud, plan)
    run(cloud, plan_of(services=SMALLER))


def test_a_service_whose_record_of_helm_was_lost_in_the_middle_is_no_new_one(cloud: Cloud, plan: Plan) -> None:
    killed(cloud, plan, after=5)
    del cloud.running["heat"]
    assert asked(plan).check(cloud.look(asked(plan)))["due"]


@pytest.mark.parametrize(("key", "value"), [("charts", "./charts-of-ours"), ("namespace", "other")])
def test_charts_and_namespace_stay_as_they_were(cloud: Cloud, plan: Plan, key: str, value: str) -> None:
    killed(cloud, plan, after=5)
    before = getattr(plan.openstack, key)
    changed = plan_of(**{key: value})  # type: ignore[arg-type]  # a value of openstack
    with pytest.raises(GroundupError, match=rf"openstack\.{key} was {before} when the step began, and is") as caught:
        run(cloud, changed)
    assert f"set it to {before} until the step has ended" in str(caught.value)


def test_a_hypervisor_leaves_the_step_by_being_retired_alone(cloud: Cloud, plan: Plan) -> None:
    killed(cloud, plan, after=5)
    smaller = plan_of(hypervisors=HYPERVISORS[:3])
    for step in (lambda: run(cloud, smaller), asked(smaller).end):
        with pytest.raises(GroundupError, match=r"machines lacks hypervisor-4 since the step began") as caught:
            step()
    assert "retire -e machine=hypervisor-4" in str(caught.value)
    del cloud.hypervisors["hypervisor-4"]  # retired: Nova has no record
    run(cloud, smaller)
    assert {*cloud.hypervisors} == {*HYPERVISORS[:3]}


def test_a_hypervisor_that_is_added_is_none_yet_and_holds_up_nothing(cloud: Cloud, plan: Plan) -> None:
    del cloud.hypervisors["hypervisor-4"]
    killed(cloud, plan_of(hypervisors=HYPERVISORS[:3]), after=5)
    run(cloud, plan)
    assert "hypervisor-4" not in cloud.done


def test_a_step_that_a_former_version_began_goes_on(cloud: Cloud, plan: Plan, tmp_path: Path) -> None:
    killed(cloud, plan, after=5)
    path = tmp_path / OPENSTACK.file
    written = json.loads(path.read_text())
    del written["inputs"]
    path.write_text(json.dumps(written))
    run(cloud, plan_of(charts="./charts-of-ours"))


def test_a_new_step_waits_for_a_host_in_maintenance(cloud: Cloud, plan: Plan) -> None:
    resting = ["hypervisor-1"]
    with pytest.raises(GroundupError, match=r"hypervisor-1 in maintenance: groundup\.cloud\.patch goes on"):
        run(cloud, plan, resting=resting)
    killed(cloud, plan, after=5)
    run(cloud, plan, resting=resting)


def test_images_that_would_hide_what_runs_are_named_before_a_step_begins(cloud: Cloud, plan: Plan) -> None:
    images = {**plan.supply.images, "openstack": f"r.example/o:7@sha256:{'0' * 64}"}
    hiding = replace(plan, supply=replace(plan.supply, images=images))
    with pytest.raises(GroundupError, match=r"supply\.images\.openstack is r\.example/o:7@\S+ whose tag does not tell"):
        run(cloud, hiding)
    assert (cloud.done, journal.under_way(SITE, OPENSTACK)) == ([], None)
    run(cloud, plan)
