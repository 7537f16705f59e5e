"""What the verbs `erase` and `reprovision` refuse before they look at the machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import verbs
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import compute_host, connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import erase
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.erase import Erasure
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.identity import identity_file
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs import erase as verb
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs import reprovision
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.base import Asked
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.erase import refuse_serving

WANTED = Erasure(name="storage-2", method="metadata", stays=True, force=frozenset({"disks"}), timeout=1)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes that the cluster names."""
    found = ["control-1"]
    answer = SimpleNamespace(get=lambda _path: {"items": [{"metadata": {"name": name}} for name in found]})
    monkeypatch.setattr(verb, "Api", lambda _path: answer)
    return found


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: list[str]) -> Plan:
    assert nodes
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(connection, "of_site", lambda _plan: SimpleNamespace(compute=None))
    monkeypatch.setattr(compute_host, "look", lambda *_: SimpleNamespace(service=None, hypervisors=("another",)))
    return make_plan(load_site(COLLECTION / "inventories/cloud/site.yml"))


@pytest.mark.parametrize(("stays", "name"), [(True, "reprovision"), (False, "erase")])
def test_a_storage_host_of_the_site_is_drained_and_retired_first(plan: Plan, stays: bool, name: str) -> None:
    with pytest.raises(GroundupError, match="storage-2 is a storage host") as refused:
        refuse_serving(plan, replace(WANTED, stays=stays))
    for word in ("drain -e machine=storage-2", "cloud.retire", f'"{name}_force": [disks, osds]'):
        assert word in refused.value.remedy


def test_an_orchestrator_s_host_is_taken_out_by_it(plan: Plan) -> None:
    assert plan.ceph
    with pytest.raises(GroundupError, match="is a storage host") as refused:
        refuse_serving(replace(plan, ceph=replace(plan.ceph, backend="cephadm")), WANTED)
    assert "have cephadm remove its OSDs" in refused.value.remedy


def test_the_loss_of_its_osds_is_accepted_by_a_consent_of_its_own(plan: Plan) -> None:
    refuse_serving(plan, replace(WANTED, force=frozenset({"disks", "osds"})))


def test_what_is_no_storage_host_is_not_refused_as_one(plan: Plan) -> None:
    refuse_serving(plan, replace(WANTED, name="worker-1"))


def test_one_that_ironic_forgot_and_the_journal_has_wants_the_same_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(erase, "_ironic", lambda *_: SimpleNamespace(node=lambda _name: None))
    plan = make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))
    wanted = replace(WANTED, name="worker-1", stays=False)
    assert erase.foreseen(plan, wanted) == {"changed": False, "changes": []}
    journal = Journal(file_of(home_of(plan.site), "worker-1"))
    journal.note(WayStep(state="installed", verb="done"))
    with pytest.raises(GroundupError, match="everything on the disks of worker-1 would be lost"):
        erase.foreseen(plan, replace(wanted, force=frozenset()))
    assert "NOT erased" in erase.foreseen(plan, wanted)["changes"][0]
    journal.note(WayStep(state="retired", verb="done"))
    assert erase.foreseen(plan, wanted) == {"changed": False, "changes": []}


@pytest.mark.parametrize("name", ["hypervisor-1", "worker-1", "left-the-site"])
def test_a_hypervisor_is_one_by_the_cloud_whatever_the_site_file_makes_of_it_by_now(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(connection, "of_site", lambda _plan: SimpleNamespace(compute=None))
    monkeypatch.setattr(compute_host, "look", lambda *_: SimpleNamespace(service={"host": name}, hypervisors=(name,)))
    with pytest.raises(GroundupError, match=f"{name} is a hypervisor of the cloud"):
        refuse_serving(plan, replace(WANTED, name=name))
    monkeypatch.setattr(compute_host, "look", lambda *_: SimpleNamespace(service=None, hypervisors=("another",)))
    refuse_serving(plan, replace(WANTED, name=name))


def silent(*_: object) -> None:
    raise GroundupError("the API does not answer", where="", why="", remedy="")


def one_node(_path: str) -> dict[str, Any]:
    return {"items": [{"metadata": {"name": "another"}}]}


def without_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "Api", Api)


def without_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "Api", lambda _path: SimpleNamespace(get=silent))


def without_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "Api", lambda _path: SimpleNamespace(get=lambda _path: {"items": []}))


def of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "known_ca", silent)


def without_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "of_site", silent)


def without_nova(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_host, "look", silent)


@pytest.mark.parametrize("name", ["control-1", "worker-1", "hypervisor-1", "left-the-site"])
@pytest.mark.parametrize(
    ("breaks", "who"),
    [
        (without_kubeconfig, "cluster"), (without_answer, "cluster"), (without_nodes, "cluster"),
        (of_another, "cluster"), (without_cloud, "cloud"), (without_nova, "cloud"),
    ],
)  # fmt: skip
def test_a_service_that_does_not_say_whether_it_uses_the_machine_is_no_consent(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, name: str, breaks: Callable[[pytest.MonkeyPatch], None], who: str
) -> None:
    monkeypatch.setattr(verb, "Api", lambda _path: SimpleNamespace(get=one_node))
    breaks(monkeypatch)
    with pytest.raises(GroundupError, match=f"the {who} does not say whether it uses {name}") as refused:
        refuse_serving(plan, replace(WANTED, name=name))
    assert f'"reprovision_force": [{who}-silent, disks]' in refused.value.remedy
    refuse_serving(plan, replace(WANTED, name=name, force=frozenset({"disks", f"{who}-silent"})))
    with pytest.raises(GroundupError, match="is a storage host"):
        refuse_serving(plan, replace(WANTED, force=frozenset({"disks", f"{who}-silent"})))


@pytest.mark.parametrize(
    "record",
    [None, {"ca": "c"}, {"ca": "c", "nodes": ["control-1"]}],
    ids=["no record", "as the first run writes it", "from before it joined"],
)
def test_a_node_is_one_by_the_cluster_whatever_this_controller_remembers(
    plan: Plan, nodes: list[str], tmp_path: Path, record: dict[str, Any] | None
) -> None:
    nodes.append("worker-1")
    if record:
        (tmp_path / plan.site).mkdir()
        (tmp_path / plan.site / "cluster.json").write_text(json.dumps(record))
    with pytest.raises(GroundupError, match="worker-1 is a node of the cluster"):
        refuse_serving(plan, replace(WANTED, name="worker-1", force=frozenset({"disks", "cluster-silent"})))


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


def asked(
    plan: Plan, name: str, step: str, ceph: Callable[..., dict[str, Any]], *, verb: str = "erase", **more: Any
) -> Any:
    """Do one step of a verb."""
    others = [{"item": "control-1", "changes": [], "speaks": ["nb", "sb"]}]  # of etcd and OVN: it is no member
    given = {"say": lambda _line: None, "seen": {"etcd": others, "ovn": others}, **more}
    return verbs.find(verb)(Asked(plan=plan, machine=name, ceph=ceph, **given)).run(step)


@pytest.mark.parametrize("step", ["check", "erase"])
@pytest.mark.parametrize("name", ["worker-1", "left-the-site"])
def test_ceph_is_asked_about_every_machine_before_each_step_unless_its_osds_are_given_up(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, step: str, name: str
) -> None:
    known = own(plan)

    def ceph(which: str, *, check: bool) -> dict[str, Any]:
        assert (which, check) == ("erase", True)
        raise GroundupError(f"the cluster has osd.7 on {name}", where="", why="", remedy="")

    monkeypatch.setattr(erase, "carry_out", lambda *_: pytest.fail("it was erased"))
    with pytest.raises(GroundupError, match=rf"the cluster has osd\.7 on {name}"):
        asked(known, name, step, ceph, force=["disks"])
    monkeypatch.setattr(erase, "carry_out", lambda *_: {"changes": ["erased"], "record": "r"})
    monkeypatch.setattr(erase, "foreseen", lambda *_: {"changes": ["erased"]})
    assert asked(known, name, step, ceph, force=["disks", "osds"])["changes"] == ["erased"]


def test_a_machine_is_installed_again_after_its_disks_were_erased(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    known, done = own(plan), list[str]()

    def erased(*_: Any) -> dict[str, Any]:
        done.append("erase")
        return {"changes": ["erased"], "record": ""}

    monkeypatch.setattr(erase, "carry_out", erased)
    monkeypatch.setattr(reprovision, "page_of", lambda _plan: None)
    failed: dict[str, GroundupError] = {}

    def install(changes: Any, _plan: Plan, names: list[str], *_: Any, **__: Any) -> dict[str, GroundupError]:
        done.append(f"install {names}")
        changes.add("install worker-1")
        return failed

    monkeypatch.setattr(reprovision, "install", install)
    run = partial(asked, known, "worker-1", ceph=lambda *_, **__: {}, verb="reprovision", force=["disks"])
    assert run("erase")["steps"] == ["erase", "install"]
    assert run("install")["changes"] == ["install worker-1"]
    assert done == ["erase", "install ['worker-1']"]
    failed["worker-1"] = GroundupError("no disk", where="", why="", remedy="")
    with pytest.raises(GroundupError, match="no disk"):
        run("install")


@pytest.mark.parametrize("verb", ["erase", "reprovision"])
def test_every_consent_of_before_is_one_of_the_verb_and_no_other(plan: Plan, verb: str) -> None:
    codes = ["disks", "dead", "osds", "cluster-silent", "cloud-silent", "ovn-silent", "controller-silent"]
    verbs.find(verb)(Asked(plan=plan, machine="worker-1", force=codes))
    with pytest.raises(GroundupError, match="no risk everything to accept"):
        verbs.find(verb)(Asked(plan=plan, machine="worker-1", force=["everything"]))


def own(plan: Plan) -> Plan:
    """The plan with a worker that the seed installs."""
    return replace(plan, hosts={**plan.hosts, "worker-1": replace(plan.hosts["worker-1"], provisioner="ironic")})
