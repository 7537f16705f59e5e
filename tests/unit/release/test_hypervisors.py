"""Hypervisors in the step: batches, those that it lost, and those that do not answer."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import run as verb
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal

from .cloud import FROM, HYPERVISORS, TO, Cloud, KilledRun, plan_of, run


def test_a_hypervisor_that_does_not_come_back_keeps_the_others_as_they_are(cloud: Cloud, plan: Plan) -> None:
    cloud.silent = {"hypervisor-2"}
    with pytest.raises(GroundupError, match="nova-compute does not report: hypervisor-2"):
        run(cloud, plan)
    with pytest.raises(GroundupError, match="hypervisor-2, which does not report") as caught:
        run(cloud, plan, force=["hypervisors-down"])
    assert "--tags check shows what is left" in caught.value.remedy
    left = [name for name, release in cloud.hypervisors.items() if release == FROM]
    assert left == ["hypervisor-2"]
    assert not {"restart", "data"} & {*cloud.done}, "they would be pinned to the former release again"
    cloud.silent.clear()
    run(cloud, plan)
    assert cloud.done[-3:] == ["hypervisor-2", "restart", "data"]


def test_a_hypervisor_that_a_step_lost_comes_first_and_alone_until_it_is_back(cloud: Cloud, plan: Plan) -> None:
    """The canary first; then one that had reported as new."""
    converge, tried = cloud.converge, list[tuple[str, ...]]()
    lost = ["hypervisor-1", "hypervisor-3"]

    def loses(batch: tuple[str, ...]) -> None:
        tried.append(tuple(batch))
        cloud.silent.update({*batch} & {*lost})
        cloud.silent.intersection_update(lost)
        converge(tuple(name for name in batch if name == "hypervisor-3" or name not in lost))

    cloud.converge = loses  # type: ignore[method-assign]
    for first in ("hypervisor-1", "hypervisor-1"):
        with pytest.raises(GroundupError, match=f"{first}: nova-compute does not report"):
            run(cloud, plan)
    assert tried == [("hypervisor-1",)] * 2, "no other is touched while it is away"
    tried.clear()
    del lost[0]
    with pytest.raises(GroundupError, match="hypervisor-3: nova-compute does not report"):
        run(cloud, plan)
    assert tried == [("hypervisor-1",), ("hypervisor-2", "hypervisor-3")]
    assert cloud.hypervisors["hypervisor-3"] == TO
    tried.clear()
    asked = verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="")
    found = asked.check(cloud.look(asked))
    assert found["changes"][1] == (
        "nova-compute and Neutron's agent of hypervisor-3, which does not report: first, and alone"
    )
    lost.clear()
    run(cloud, plan)
    assert tried == [("hypervisor-3",), ("hypervisor-4",)]


def test_hypervisors_that_are_silent_while_services_are_left_were_not_lost_by_it(cloud: Cloud, plan: Plan) -> None:
    """Nova's conductors are away, and nothing reports."""
    asked = verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="")
    asked.begin()
    cloud.silent = {*HYPERVISORS}
    assert asked.check(cloud.look(asked))["hypervisors"] == []


def test_the_step_does_not_end_while_a_new_hypervisor_is_silent(cloud: Cloud, plan: Plan) -> None:
    asked = verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="")
    asked.begin()
    cloud.running = dict.fromkeys(cloud.running, TO)
    cloud.hypervisors = dict.fromkeys(cloud.hypervisors, TO)
    cloud.silent = {"hypervisor-4"}
    asked.restart()
    asked.data()
    assert cloud.done == [], "it may come back as a former one"
    with pytest.raises(GroundupError, match="hypervisor-4, which does not report"):
        asked.end()
    cloud.silent.clear()
    run(cloud, plan)
    cloud.silent = {"hypervisor-4"}
    asked.verify()
    assert not asked.check(cloud.look(asked))["due"], "what is silent later opens no step"


def test_what_is_away_is_accepted_told_and_no_part_of_a_batch(cloud: Cloud, plan: Plan) -> None:
    def asks(*force: str) -> verb.ReleaseUpgrade:
        absent = ["hypervisor-1", "seed-1"]
        return verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="", absent=absent, force=force)

    with pytest.raises(GroundupError, match="hypervisors do not answer: hypervisor-1\n") as caught:
        asks().check(cloud.look(asks()))
    assert '"openstack_upgrade_force": [hypervisors-down]' in caught.value.remedy
    asked = asks("hypervisors-down")
    found = asked.check(cloud.look(asked))
    assert found["hypervisors"] == [["hypervisor-2"], ["hypervisor-3"], ["hypervisor-4"]]
    assert "hypervisor-1: does not answer; the end of the step waits for it" in found["changes"]
    asked.begin()
    cloud.running = dict.fromkeys(cloud.running, TO)
    cloud.hypervisors["hypervisor-1"], cloud.silent = TO, {"hypervisor-1"}
    found = asked.check(cloud.look(asked))
    assert "hypervisor-1: does not answer; the end of the step waits for it" in found["changes"]


def test_a_run_that_goes_on_tries_one_of_a_batch_that_stayed_as_it_was_alone(cloud: Cloud, plan: Plan) -> None:
    converge, tried = cloud.converge, list[tuple[str, ...]]()

    def does_nothing(batch: tuple[str, ...]) -> None:
        tried.append(tuple(batch))
        converge(tuple(name for name in batch if name == "hypervisor-1"))

    cloud.converge = does_nothing  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(GroundupError, match="hypervisor-2: nova-compute reports as former"):
            run(cloud, plan)
    assert tried == [("hypervisor-1",), ("hypervisor-2", "hypervisor-3"), ("hypervisor-2",)]


def test_no_batch_follows_one_that_does_not_report_as_new(cloud: Cloud, plan: Plan) -> None:
    converge, old = cloud.converge, set[str]()

    def does_nothing(batch: tuple[str, ...]) -> None:
        old.update({*batch} & {"hypervisor-3"})
        converge(tuple(name for name in batch if name not in old))

    cloud.converge = does_nothing  # type: ignore[method-assign]
    with pytest.raises(GroundupError, match="hypervisor-3: nova-compute reports as former") as caught:
        run(cloud, plan)
    assert cloud.hypervisors["hypervisor-4"] == FROM
    assert "journalctl -n 50 -u nova-compute" in caught.value.remedy
    cloud.converge = converge  # type: ignore[method-assign]
    run(cloud, plan)
    assert cloud.done[-4:] == ["hypervisor-3", "hypervisor-4", "restart", "data"]


def broken_in(cloud: Cloud, *names: str) -> list[tuple[str, ...]]:
    """Have nova-compute of ``names`` not start with the release; return what is tried."""
    converge, tried = cloud.converge, list[tuple[str, ...]]()

    def converges(batch: tuple[str, ...]) -> None:
        tried.append(tuple(batch))
        cloud.silent.update({*batch} & {*names})
        converge(tuple(name for name in batch if name not in cloud.silent))

    cloud.converge = converges  # type: ignore[method-assign]
    return tried


def test_one_whose_nova_compute_is_broken_is_set_aside_by_consent_and_the_step_stays_open(
    cloud: Cloud, plan: Plan
) -> None:
    """The canary. Two at most may be missing: one is, so the others go one by one."""
    tried = broken_in(cloud, "hypervisor-1")
    for force in ((), ("data",)):
        with pytest.raises(GroundupError, match="hypervisor-1: nova-compute does not report"):
            run(cloud, plan, force=force)
    assert tried == [("hypervisor-1",)] * 2
    tried.clear()
    said: list[str] = []
    asked = verb.ReleaseUpgrade(plan=plan, say=said.append, password="", force=["hypervisors-down"])
    assert (
        "hypervisor-1: does not report, and is set aside; the end of the step waits for it"
        in (asked.check(cloud.look(asked))["changes"])
    )
    with pytest.raises(
        GroundupError, match=r"not 2026\.2 everywhere: nova-compute and Neutron's agent of hypervisor-1"
    ):
        run(cloud, plan, force=["hypervisors-down"])
    assert tried == [("hypervisor-2",), ("hypervisor-3",), ("hypervisor-4",)]
    assert not {"restart", "data"} & {*cloud.done}, "what it speaks is kept"
    assert journal.under_way("cloud", journal.OPENSTACK)
    del cloud.converge  # mended
    cloud.silent.clear()
    run(cloud, plan)
    assert cloud.done[-3:] == ["hypervisor-1", "restart", "data"]


def test_a_run_without_one_that_is_broken_killed_after_any_effect_goes_on(cloud: Cloud, plan: Plan) -> None:
    for lives in itertools.count(1):
        cloud.reset(1000)
        cloud.silent, force = {"hypervisor-2"}, ["hypervisors-down"]
        cloud.lives = lives
        with pytest.raises((KilledRun, GroundupError)) as ended:
            run(cloud, plan, force=force)
        if isinstance(ended.value, KilledRun):
            cloud.lives = 1000
            with pytest.raises(GroundupError, match="agent of hypervisor-2, which does not report"):
                run(cloud, plan, force=force)
        assert cloud.done[-3:] == ["hypervisor-1", "hypervisor-3", "hypervisor-4"], f"killed after {lives}"
        assert cloud.hypervisors["hypervisor-2"] == FROM
        cloud.silent, cloud.lives = set(), 1000
        run(cloud, plan)
        assert cloud.done[-3:] == ["hypervisor-2", "restart", "data"]
        assert journal.under_way("cloud", journal.OPENSTACK) is None
        if not isinstance(ended.value, KilledRun):
            break
    assert lives > len(HYPERVISORS) + len(cloud.running)


@pytest.mark.parametrize("opened", [False, True])
def test_no_more_are_set_aside_than_may_be_missing(cloud: Cloud, plan: Plan, *, opened: bool) -> None:
    def asked(plan: Plan) -> verb.ReleaseUpgrade:
        return verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="", force=["hypervisors-down"])

    if opened:
        asked(plan).begin()
        cloud.running = dict.fromkeys(cloud.running, TO)
    cloud.silent = {"hypervisor-2", "hypervisor-4"}
    few = plan_of(missing=1)
    match = r"hypervisor-2, hypervisor-4 of hypervisor do not report, and at most 1 may be missing \(machines\."
    with pytest.raises(GroundupError, match=match) as caught:
        asked(few).check(cloud.look(asked(few)))
    assert "_force" not in caught.value.remedy
    assert asked(plan).check(cloud.look(asked(plan)))["hypervisors"] == [["hypervisor-1"], ["hypervisor-3"]]
    if opened:
        with pytest.raises(GroundupError, match=match):
            asked(few).move()
        assert asked(plan).move()["hypervisors"] == [["hypervisor-1"], ["hypervisor-3"]]


def test_the_consent_covers_none_that_breaks_afterwards(cloud: Cloud, plan: Plan) -> None:
    cloud.silent = {"hypervisor-1"}
    tried = broken_in(cloud, "hypervisor-2")
    with pytest.raises(GroundupError, match="hypervisor-2: nova-compute does not report"):
        run(cloud, plan, force=["hypervisors-down"])
    assert tried == [("hypervisor-2",)]


def test_where_it_stops_host_unit_and_last_words_are_named(cloud: Cloud, plan: Plan) -> None:
    words = {"nova-compute": "activating (auto-restart): No module named \x1b[31m'nova'", "neutron-ovn-agent": "active"}
    broken_in(cloud, "hypervisor-1")
    with pytest.raises(GroundupError) as caught:
        run(cloud, plan, said={"hypervisor-1": words})
    assert caught.value.what == (
        "the step to 2026.2 stopped at hypervisors: hypervisor-1: nova-compute does not report; neutron-ovn-agent is "
        "active; nova-compute is activating (auto-restart): No module named \\x1b[31m'nova'"
    )
    assert "hypervisors-down" in caught.value.remedy
    said: list[str] = []
    asked = verb.ReleaseUpgrade(
        plan=plan, say=said.append, password="", said={"hypervisor-1": words, "hypervisor-2": {}}
    )
    asked.check(cloud.look(asked))
    assert said[0].startswith(
        "[openstack_upgrade] hypervisor-1: neutron-ovn-agent is active; nova-compute is activating"
    )
    assert not any("hypervisor-2: " in line for line in said), "it reports"
    assert asked.joined(["hypervisor-4"], {"hypervisor-4": "not enough room"})["lacking"] == {
        "hypervisor-4": "not enough room"
    }, "one that could not be changed is not waited for"
    with pytest.raises(GroundupError, match="hypervisor-4: not enough room; its units could not be asked"):
        asked.lost({"hypervisor-4": "not enough room\n  where: there"})
