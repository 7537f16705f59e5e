"""The verb: its order, killed after every effect and gone on with, failures, and what other layers go by meanwhile."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import data
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import run as verb
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.journal import KUBERNETES, OPENSTACK

from .cloud import FROM, HYPERVISORS, PINNED, TO, Cloud, KilledRun, run, tasks

SITE = "cloud"
# Services along the graph; one hypervisor alone, then two at most of a zone; then what needs all of them.
SERVICES = ["keystone", "placement", "glance", "neutron", "cinder", "nova", "heat", "horizon"]
AFTER = [*HYPERVISORS, "restart", "data"]


def test_the_playbook_has_every_step_once_and_in_order() -> None:
    before = ["check", "back", "release_stage", "begin", "first", "ask", "rollout", "move"]
    assert [*tasks()] == [*before, "release", "restart", "data", "end", "verify"]


def test_an_open_step_publishes_what_was_corrected_and_a_new_one_alone_is_backed_up() -> None:
    whole = yaml.safe_load((COLLECTION / "playbooks/openstack_upgrade.yml").read_text())
    named = {play["name"]: place for place, play in enumerate(whole)}
    layers = {name: whole[place]["when"].split(" ")[0] for name, place in named.items() if "when" in whole[place]}
    due, new = (f"hostvars.localhost.openstack_upgrade_{one}" for one in ("due", "new"))
    assert layers == {"Artifacts": due, "Publish": due, "Back up": new}
    assert named["Decide"] < named["Release"] < named["Artifacts"]
    assert whole[named["Release"]]["hosts"].split(":") == ["localhost", "seed", "compute", "!absent"]
    (fact,) = whole[named["Release"]]["tasks"]
    assert [*fact["ansible.builtin.set_fact"]] == ["groundup_site"]


def test_services_go_along_the_graph_then_hypervisors_then_what_needs_all_of_them(cloud: Cloud, plan: Plan) -> None:
    said = run(cloud, plan)
    needs = {one.name: one.needs for one in plan.openstack.releases}
    order = cloud.done[: len(SERVICES)]
    assert sorted(order) == sorted(SERVICES)
    assert all(order.index(need) < place for place, name in enumerate(order) for need in needs[name] if need in order)
    assert cloud.done[len(SERVICES) :] == AFTER
    assert said[-1] == f"OpenStack {TO} on every service and hypervisor"
    assert journal.under_way(SITE, OPENSTACK) is None
    cloud.done.clear()
    assert run(cloud, plan) == said[-1:], "a second run has nothing to do, and says so"
    assert cloud.done == []


def test_a_run_killed_after_any_effect_goes_on_with_the_next_and_does_each_once(cloud: Cloud, plan: Plan) -> None:
    run(cloud, plan)
    whole = list(cloud.done)
    for lives in itertools.count(1):
        cloud.reset(lives)
        try:
            run(cloud, plan)
        except KilledRun:
            assert journal.under_way(SITE, OPENSTACK) or not cloud.done or cloud.done == whole
            cloud.lives = 1000
            run(cloud, plan)
        else:
            break
        assert cloud.done == whole, f"killed after {lives}"
        assert journal.under_way(SITE, OPENSTACK) is None
    assert lives > len(whole)


def test_the_check_tells_order_and_steps_and_writes_nothing(cloud: Cloud, plan: Plan, tmp_path: Path) -> None:
    said: list[str] = []
    asked = verb.ReleaseUpgrade(plan=plan, say=said.append, password="")
    found = asked.check(cloud.look(asked))
    assert found["hypervisors"] == [["hypervisor-1"], ["hypervisor-2", "hypervisor-3"], ["hypervisor-4"]]
    assert found["changes"] == [
        "make and publish artifacts, back up, place hypervisors' environments",
        *(f"{name}: expand its schema, roll its pods, contract" for name in _order(plan)),
        *(f"nova-compute and Neutron's agent of {', '.join(batch)}" for batch in found["hypervisors"]),
        f"restart without the former release's messages: {', '.join(PINNED)}", "migrate Nova's data",
    ]  # fmt: skip
    assert said == [f"[openstack_upgrade] {number}. {line}" for number, line in enumerate(found["changes"], 1)]
    assert (found["due"], found["open"]) == (True, False)
    assert found["target"]["openstack"]["release"] == TO
    assert (cloud.done, [*tmp_path.iterdir()]) == ([], [])


def _order(plan: Plan) -> list[str]:
    done = Cloud()
    done.roll(plan)
    return done.done


def test_a_migration_that_fails_stops_the_step_before_any_hypervisor(cloud: Cloud, plan: Plan) -> None:
    cloud.fails = {"nova"}
    with pytest.raises(RuntimeError):
        run(cloud, plan)
    order = _order(plan)
    assert cloud.done == order[: order.index("nova")]
    assert {*cloud.hypervisors.values()} == {FROM}
    opened = journal.under_way(SITE, OPENSTACK)
    assert opened
    assert (opened.source, opened.target, opened.live) == (FROM, TO, FROM)
    cloud.fails.clear()
    run(cloud, plan)
    assert cloud.done == [*order, *AFTER]


def test_a_rollout_that_was_cut_off_is_gone_on_with_and_no_hypervisor_goes_before(cloud: Cloud, plan: Plan) -> None:
    """Helm has written its record: the images say the new release, and pods may have the former one."""
    asked = verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="")
    asked.begin()
    cloud.running = dict.fromkeys(cloud.running, TO)
    cloud.unfinished = {"heat"}
    assert asked.check(cloud.look(asked))["changes"][:2] == [
        "make and publish artifacts, place hypervisors' environments",
        "heat: go on with its rollout, which was interrupted",
    ]
    with pytest.raises(GroundupError, match="heat: go on with its rollout"):
        asked.move()
    run(cloud, plan)
    assert cloud.done == ["heat", *AFTER]


def test_the_remedy_of_an_interrupted_rollout_without_a_step_is_the_usual_run(cloud: Cloud, plan: Plan) -> None:
    run(cloud, plan)
    cloud.unfinished = {"heat"}
    asked = verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="")
    assert not asked.check(cloud.look(asked))["due"]
    with pytest.raises(GroundupError, match="heat: go on with its rollout") as caught:
        asked.verify()
    assert caught.value.remedy.startswith("ansible-playbook groundup.cloud.openstack goes on;")
    cloud.running["nova"] = FROM
    with pytest.raises(GroundupError, match="nova: expand") as caught:
        asked.verify()
    assert caught.value.remedy.startswith("ansible-playbook groundup.cloud.openstack_upgrade goes on;")


def test_data_that_the_job_did_not_migrate_keep_the_step_open(
    cloud: Cloud, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "migrate", lambda *_, **__: setattr(cloud, "data", "not yet"))
    with pytest.raises(GroundupError, match="Job/nova-data-migrations-2026-2 said 'not yet'") as caught:
        run(cloud, plan)
    assert "logs job/nova-data-migrations-2026-2" in caught.value.remedy
    assert journal.under_way(SITE, OPENSTACK)


def test_what_a_former_step_to_the_same_release_did_counts_for_nothing(cloud: Cloud, plan: Plan) -> None:
    """A set of before was restored; workloads have its mark, and the job of Nova's data said its last word then."""
    cloud.since = dict.fromkeys(PINNED, TO)
    cloud.data = "74"
    run(cloud, plan, force=["data"])
    assert cloud.done[-2:] == ["restart", "data"]


@pytest.mark.parametrize(("wrong", "accepted"), [({"data": "not yet"}, True), ({"running": {"nova": "2025.1"}}, False)])
def test_what_stands_against_a_step_ends_it_before_it_begins(
    cloud: Cloud, plan: Plan, wrong: dict[str, object], *, accepted: bool
) -> None:
    for name, value in wrong.items():
        setattr(cloud, name, value)
    with pytest.raises(GroundupError, match="nothing was changed") as caught:
        run(cloud, plan)
    assert ("openstack_upgrade_force" in caught.value.remedy) == accepted
    assert journal.under_way(SITE, OPENSTACK) is None
    with pytest.raises(GroundupError, match="no risk everything to accept"):
        run(cloud, plan, force=["everything"])
    if accepted:
        said = run(cloud, plan, force=["data"])
        assert any(line.startswith("[openstack_upgrade] accepted: data: Nova's data") for line in said)


def test_a_record_of_another_pair_is_refused(cloud: Cloud, plan: Plan) -> None:
    journal.begin(SITE, source="2025.2", target=FROM, versions=["2025.2", FROM], what=OPENSTACK)
    with pytest.raises(GroundupError, match=r"goes from 2025\.2 to 2026\.1; the site file says 2026\.2") as caught:
        run(cloud, plan)
    assert caught.value.remedy == (
        f"set openstack.release to {FROM}, and run this again; or docs/openstack-upgrade.md, The way back"
    )
    assert cloud.done == []


@pytest.mark.parametrize("lives", [2, 6, 12])
def test_a_record_that_cannot_be_read_is_removed_and_the_step_goes_on(
    cloud: Cloud, plan: Plan, tmp_path: Path, lives: int
) -> None:
    """The inventory of no other playbook could be read, which the remedy must not need."""
    cloud.lives = lives
    with pytest.raises(KilledRun):
        run(cloud, plan)
    (tmp_path / OPENSTACK.file).write_text("{")
    with pytest.raises(GroundupError, match="record of an upgrade cannot be read") as caught:
        run(cloud, plan)
    assert caught.value.remedy == (
        "remove the file. If kubectl get deployments --all-namespaces --output wide names images of two releases, set "
        "openstack.release to the newer one. Then run the playbook groundup.cloud.openstack_upgrade before any other"
    )
    (tmp_path / OPENSTACK.file).unlink()
    cloud.lives = 1000
    run(cloud, plan, force=["data"])
    assert sorted(one for one in cloud.done if one in SERVICES) == sorted(SERVICES)
    assert {*cloud.hypervisors.values()} == {TO}


def test_neither_upgrade_begins_while_the_other_is_open(cloud: Cloud, plan: Plan) -> None:
    journal.begin(SITE, source="1.36.3", target="1.37.2", versions=["1.36.3", "1.37.2"])
    with pytest.raises(GroundupError, match=r"openstack_upgrade waits: Kubernetes is on its way") as caught:
        run(cloud, plan)
    assert KUBERNETES.verb in caught.value.remedy


def test_other_layers_go_by_the_former_release_until_every_service_is_new(cloud: Cloud, plan: Plan) -> None:
    site = load_site(COLLECTION / "inventories/cloud/site.yml")
    site = site.model_copy(update={"openstack": site.openstack.model_copy(update={"release": TO})})
    asked = verb.ReleaseUpgrade(plan=plan, say=lambda _: None, password="")

    def live() -> tuple[str, tuple[str, ...]]:
        found = journal.live_plan(site).openstack
        assert journal.live_plan(site, target=True).openstack.release == TO
        return found.release, found.upgrading

    assert live() == (TO, ())
    asked.begin()
    assert live() == (FROM, (TO,))
    assert journal.live_plan(site).hypervisor.environments["13"].split("/")[1] == FROM
    for release in (FROM, TO):
        with pytest.raises(GroundupError, match=r"groundup\.cloud\.openstack waits: OpenStack is on its way"):
            journal.refuse_mixed(SITE, release)
    with pytest.raises(GroundupError, match="keystone: expand its schema"):
        asked.move()
    cloud.running = dict.fromkeys(cloud.running, TO)
    assert (asked.move()["changed"], asked.move()["changed"]) == (True, False)
    assert live() == (TO, (FROM,))
    journal.refuse_mixed(SITE, TO)
    with pytest.raises(GroundupError, match="waits"):
        journal.refuse_mixed(SITE, FROM)
    with pytest.raises(GroundupError, match=r"the step from 2026\.1 is open"):
        asked.verify()
