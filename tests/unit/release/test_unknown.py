"""A step whose MariaDB or RabbitMQ does not start: new, it is refused; open, it mends them first, and asks again."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import run as verb
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.journal import OPENSTACK

from .cloud import HYPERVISORS, TO, Cloud, KilledRun, run

SITE = "cloud"
BROKEN = [{"mariadb"}, {"rabbitmq"}, {"mariadb", "rabbitmq"}]


def asked(plan: Plan) -> verb.ReleaseUpgrade:
    return verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="")


def killed(cloud: Cloud, plan: Plan, lives: int) -> None:
    """Begin a step that is killed after ``lives`` effects."""
    cloud.reset(lives)
    with pytest.raises(KilledRun):
        run(cloud, plan)
    assert journal.under_way(SITE, OPENSTACK)
    cloud.lives = 1000


@pytest.mark.parametrize("broken", BROKEN)
def test_a_new_step_is_refused_and_publishes_nothing(cloud: Cloud, plan: Plan, broken: set[str]) -> None:
    cloud.broken, cloud.corrected = set(broken), set(broken)
    with pytest.raises(GroundupError, match=f"what {min(broken)} has: no member is Ready") as caught:
        run(cloud, plan, force=verb.CODES)
    assert "force" not in caught.value.remedy
    assert (cloud.done, cloud.published, journal.under_way(SITE, OPENSTACK)) == ([], set(), None)


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("before", [3, 13])
def test_an_open_step_publishes_mends_and_goes_on_killed_after_any_effect(
    cloud: Cloud, plan: Plan, broken: set[str], before: int
) -> None:
    cloud.reset(1000)
    run(cloud, plan)
    whole = list(cloud.done)
    for lives in itertools.count(1):
        killed(cloud, plan, before)
        done, cloud.broken, cloud.corrected, cloud.lives = list(cloud.done), set(broken), set(broken), lives
        try:
            run(cloud, plan)
        except KilledRun:
            cloud.lives = 1000
            run(cloud, plan)
        else:
            break
        assert cloud.done == [*done, *sorted(broken), *whole[len(done) :]], f"killed after {lives}"
        assert journal.under_way(SITE, OPENSTACK) is None
    assert lives > len(whole) - len(done)


@pytest.mark.parametrize("broken", BROKEN)
def test_what_was_not_corrected_stops_the_step_before_any_service(cloud: Cloud, plan: Plan, broken: set[str]) -> None:
    killed(cloud, plan, 5)
    done, cloud.broken = list(cloud.done), broken
    with pytest.raises(RuntimeError):
        run(cloud, plan)
    assert cloud.done == done


@pytest.mark.parametrize("broken", BROKEN)
def test_what_gives_no_answer_when_it_was_rolled_out_ends_the_run_with_its_cause(
    cloud: Cloud, plan: Plan, broken: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(cloud, plan, 5)
    done, cloud.broken = list(cloud.done), broken
    monkeypatch.setattr(cloud, "roll", lambda _plan, only=(): None if only else pytest.fail("rolled out"))
    with pytest.raises(GroundupError, match=f"what {min(broken)} has: no member is Ready") as caught:
        run(cloud, plan)
    assert "it goes on" in caught.value.remedy
    assert cloud.done == done


def test_a_service_that_is_too_old_and_was_hidden_stops_the_step_before_any_schema(cloud: Cloud, plan: Plan) -> None:
    killed(cloud, plan, 3)
    done, cloud.broken, cloud.corrected = list(cloud.done), {"mariadb"}, {"mariadb"}
    cloud.hypervisors["hypervisor-4"] = "2025.1"
    with pytest.raises(GroundupError, match="nova-compute of hypervisor-4 is 68"):
        run(cloud, plan)
    assert cloud.done == [*done, "mariadb"]


@pytest.mark.parametrize("step", ["begin", "move", "restart", "data", "end", "verify"])
@pytest.mark.parametrize("broken", BROKEN)
def test_no_step_takes_what_is_not_known_for_good(cloud: Cloud, plan: Plan, step: str, broken: set[str]) -> None:
    """Everything else is new: with an answer, each would go on."""
    asked(plan).begin()
    cloud.running = dict.fromkeys(cloud.running, TO)
    cloud.hypervisors = dict.fromkeys(cloud.hypervisors, TO)
    cloud.broken = broken
    with pytest.raises(GroundupError, match=f"what {min(broken)} has cannot be asked: no member is Ready"):
        getattr(asked(plan), step)()
    assert cloud.done == []
    assert journal.opened(SITE, OPENSTACK).live != TO


def test_a_cloud_that_seems_new_and_gives_no_answer_is_refused(cloud: Cloud, plan: Plan) -> None:
    run(cloud, plan)
    cloud.broken = {"mariadb"}
    with pytest.raises(GroundupError, match="what mariadb has: no member is Ready"):
        asked(plan).check(cloud.look(asked(plan)))


@pytest.mark.parametrize("broken", BROKEN)
def test_the_check_says_what_comes_first_and_stages_whoever_may_change(
    cloud: Cloud, plan: Plan, broken: set[str]
) -> None:
    asked(plan).begin()
    cloud.broken = broken
    run_of = verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="", absent=["hypervisor-3"])
    found = run_of.check(cloud.look(run_of))
    assert found["first"] == sorted(broken)
    assert found["staged"] == [name for name in HYPERVISORS if name != "hypervisor-3"]
    assert found["changes"][1] == (
        f"{min(broken)}: roll it out first, and ask it again; what it says decides what follows"
    )
    cloud.broken = set()
    found = asked(plan).check(cloud.look(asked(plan)))
    assert (found["first"], found["staged"]) == ([], [*HYPERVISORS])


def test_hypervisors_that_report_a_while_after_their_queue_are_not_taken_for_lost(
    cloud: Cloud, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(plan).begin()
    cloud.running = dict.fromkeys(cloud.running, TO)
    cloud.silent = {*HYPERVISORS}
    monkeypatch.setattr("time.sleep", lambda _: cloud.silent.clear())
    assert asked(plan).move()["hypervisors"] == [["hypervisor-1"], ["hypervisor-2", "hypervisor-3"], ["hypervisor-4"]]
