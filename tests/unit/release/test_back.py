"""The former release in the site file while a step is open: it goes back where nothing has the other one."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import run as verb
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.check import ReleaseCheck
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.journal import OPENSTACK

from .cloud import FROM, TO, Cloud, KilledRun, plan_of, run

SITE = "cloud"


@pytest.fixture
def former() -> Plan:
    return plan_of(FROM)


@pytest.fixture(autouse=True)
def begun(cloud: Cloud, plan: Plan) -> None:
    """A step that was killed before its first service."""
    cloud.lives = 2
    with pytest.raises(KilledRun):
        run(cloud, plan)
    cloud.lives = 1000
    assert journal.under_way(SITE, OPENSTACK)


def test_a_step_that_has_changed_nothing_goes_back_and_can_be_made_again(
    cloud: Cloud, plan: Plan, former: Plan
) -> None:
    said: list[str] = []
    asked = verb.ReleaseUpgrade(plan=former, say=said.append, password="")
    assert asked.check(cloud.look(asked))["back"]
    assert said == [f"[openstack_upgrade] give up the step to {TO}: nothing has it"]
    assert journal.under_way(SITE, OPENSTACK), "a check writes nothing"
    assert run(cloud, former)[-1] == f"OpenStack {FROM} on every service and hypervisor"
    assert (cloud.done, journal.under_way(SITE, OPENSTACK)) == ([], None)
    assert run(cloud, plan)[-1] == f"OpenStack {TO} on every service and hypervisor"


def test_a_database_that_does_not_answer_holds_up_no_way_back(cloud: Cloud, former: Plan) -> None:
    """It may be why the step stopped; hypervisors change after the last service."""
    cloud.broken = {"mariadb"}
    verb.ReleaseUpgrade(plan=former, say=lambda _: None, password="").back()
    assert journal.under_way(SITE, OPENSTACK) is None


@pytest.mark.parametrize(
    ("has", "named"),
    [
        ({"keystone"}, "keystone has 2026.2"),
        ({"hypervisor-2"}, "nova-compute of hypervisor-2 has version 74"),
        ({"live"}, "every service had it"),
    ],
)
def test_a_step_of_which_something_is_new_goes_forward_alone_and_says_what(
    cloud: Cloud, former: Plan, has: set[str], named: str
) -> None:
    cloud.running |= dict.fromkeys(has & cloud.running.keys(), TO)
    cloud.hypervisors |= dict.fromkeys(has & cloud.hypervisors.keys(), TO)
    if "live" in has:
        journal.move(SITE, live=TO, what=OPENSTACK)
    asked = verb.ReleaseUpgrade(plan=former, say=lambda _: None, password="")
    for step in (lambda: run(cloud, former), asked.back):
        with pytest.raises(GroundupError, match=rf"does not go back: {named}") as caught:
            step()
        assert caught.value.remedy.startswith(f"set openstack.release to {TO}, and run this again;")
    assert journal.under_way(SITE, OPENSTACK)


def test_what_cannot_be_asked_is_not_taken_for_nothing(cloud: Cloud, former: Plan) -> None:
    asked = verb.ReleaseUpgrade(plan=former, say=lambda _: None, password="")
    unknown: ReleaseCheck = dataclasses.replace(cloud.look(asked), facts=None)
    with pytest.raises(GroundupError, match="does not go back: what runs cannot be asked"):
        asked.check(unknown)


def test_a_cloud_of_which_nothing_is_known_to_run_is_not_taken_for_a_former_one(cloud: Cloud, former: Plan) -> None:
    asked = verb.ReleaseUpgrade(plan=former, say=lambda _: None, password="")
    found = cloud.look(asked)
    assert found.facts
    with pytest.raises(GroundupError, match="does not go back: no service of the site file has a release of Helm"):
        asked.check(dataclasses.replace(found, facts=dataclasses.replace(found.facts, running={})))
