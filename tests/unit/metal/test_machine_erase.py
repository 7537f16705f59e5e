"""What the verbs `erase` and `reprovision` refuse before they look at the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.plugins.action.machine_erase import _refuse_serving
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import compute_host, connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import erase
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.erase import Wanted
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.identity import identity_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import Step
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan

WANTED = Wanted(name="storage-2", method="metadata", stays=True, force=frozenset({"disks"}), timeout=1)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    return make_plan(load_site(COLLECTION / "inventories/cloud/site.yml"))


@pytest.mark.parametrize(("stays", "verb"), [(True, "reprovision"), (False, "erase")])
def test_a_storage_host_of_the_site_is_drained_and_retired_first(plan: Plan, stays: bool, verb: str) -> None:
    with pytest.raises(GroundupError, match="storage-2 is a storage host") as refused:
        _refuse_serving(plan, replace(WANTED, stays=stays))
    for word in ("storage_drain -e drain_machine=storage-2", "storage_retire", f'"{verb}_force": [disks, osds]'):
        assert word in refused.value.remedy


def test_an_orchestrator_s_host_is_taken_out_by_it(plan: Plan) -> None:
    assert plan.ceph
    with pytest.raises(GroundupError, match="is a storage host") as refused:
        _refuse_serving(replace(plan, ceph=replace(plan.ceph, backend="cephadm")), WANTED)
    assert "have cephadm remove its OSDs" in refused.value.remedy


def test_the_loss_of_its_osds_is_accepted_by_a_consent_of_its_own(plan: Plan) -> None:
    _refuse_serving(plan, replace(WANTED, force=frozenset({"disks", "osds"})))


def test_what_is_no_storage_host_is_not_refused_as_one(plan: Plan) -> None:
    _refuse_serving(plan, replace(WANTED, name="worker-1"))


def test_one_that_ironic_forgot_and_the_journal_has_wants_the_same_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(erase, "_ironic", lambda *_: SimpleNamespace(node=lambda _name: None))
    plan = make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))
    wanted = replace(WANTED, name="worker-1", stays=False)
    assert erase.foreseen(plan, wanted) == {"changed": False, "changes": []}
    journal = Journal(file_of(home_of(plan.site), "worker-1"))
    journal.note(Step(state="installed", verb="done"))
    with pytest.raises(GroundupError, match="everything on the disks of worker-1 would be lost"):
        erase.foreseen(plan, replace(wanted, force=frozenset()))
    assert "NOT erased" in erase.foreseen(plan, wanted)["changes"][0]
    journal.note(Step(state="retired", verb="done"))
    assert erase.foreseen(plan, wanted) == {"changed": False, "changes": []}


@pytest.mark.parametrize("name", ["hypervisor-1", "worker-1", "left-the-site"])
def test_a_hypervisor_is_one_by_the_cloud_whatever_the_site_file_makes_of_it_by_now(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(connection, "of_site", lambda _plan: SimpleNamespace(compute=None))
    monkeypatch.setattr(compute_host, "look", lambda *_: SimpleNamespace(service={"host": name}))
    with pytest.raises(GroundupError, match=f"{name} is a hypervisor of the cloud"):
        _refuse_serving(plan, replace(WANTED, name=name))
    monkeypatch.setattr(compute_host, "look", lambda *_: SimpleNamespace(service=None))
    _refuse_serving(plan, replace(WANTED, name=name))


def test_what_no_site_file_calls_a_hypervisor_needs_no_answer_of_a_cloud_that_is_down(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(_plan: Plan) -> None:
        raise connection.UnreachedError("the cloud does not answer", where="", why="", remedy="")

    monkeypatch.setattr(connection, "of_site", down)
    _refuse_serving(plan, replace(WANTED, name="worker-1"))
    for name in ("hypervisor-1", "left-the-site"):
        with pytest.raises(GroundupError, match="does not answer"):
            _refuse_serving(plan, replace(WANTED, name=name))


@pytest.mark.parametrize(("stays", "force"), [(False, "disks"), (False, "dead"), (True, "disks")])
def test_another_machine_may_be_found_for_one_that_was_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: bool, force: str
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(erase, "_ironic", lambda *_: SimpleNamespace(node=lambda _name: None))
    plan = make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))
    kept = identity_file(home_of(plan.site), "found-1")
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    wanted = replace(WANTED, name="found-1", stays=stays, force=frozenset({"disks", force}))
    erase.carry_out(plan, wanted, lambda _line: None)
    assert kept.exists() == stays


def test_a_consent_that_is_asked_for_keeps_those_that_were_given() -> None:
    assert (
        replace(WANTED, force=frozenset({"osds"})).accepting("disks").endswith('"reprovision_force": [disks, osds]}\'')
    )
