"""An upgrade on its way: each step is written down before and after, and a run that was killed goes on at it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal, nodes
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.nodes import CORDONED
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.steps import UpgradeStep

from .cluster import CONTROL, NODES, WORKERS, Cluster, moved
from .running import SITE, asked, new, opened, step

pytestmark = pytest.mark.usefixtures("controller")


def test_an_upgrade_from_its_begin_to_its_end(cluster: Cluster, controller: Path) -> None:
    answer = asked().check()
    assert (answer["open"], answer["control"], answer["add_ons"], answer["drains"]) == (
        False,
        list(CONTROL),
        True,
        True,
    )
    assert answer["target"]["kubernetes"]["upgrading"] == ["1.36.3"]
    assert journal.under_way(SITE) is None
    step().begin()
    for name in CONTROL:
        step("control", name).enter()
        assert opened().open_steps == (UpgradeStep(kind="control", host=name),)
        moved(cluster, name)
        step("control", name).leave()
    assert (opened().live, opened().open_steps) == ("1.36.3", ())
    step("add-ons").enter()
    assert opened().live == "1.37.2"
    cluster.proxy, cluster.dns = "v1.37.2", "v1.14.6"
    step("add-ons").leave()
    for batch in answer["kubelets"]:
        step("kubelet", *batch, evict=True).enter()
        assert all(cluster.patched[host]["spec"]["unschedulable"] for host in batch)
        cluster.kubelets |= dict.fromkeys(batch, "v1.37.2")
        step("kubelet", *batch).leave()
    assert cluster.evicted == [f"web-{name}" for name in NODES]
    with pytest.raises(GroundupError, match=r"from 1\.36\.3 to 1\.37\.2 is open"):
        asked().verify()
    assert step().end() == {"changed": True, "msg": "Kubernetes 1.37.2 on 5 nodes"}
    assert not (controller / journal.KUBERNETES.file).exists()
    assert asked().verify()["changed"] is False
    assert asked().check()["changes"] == []


def test_a_run_that_goes_on_begins_at_the_step_it_was_killed_in(cluster: Cluster) -> None:
    """Its host may be new already: it is out of HAProxy still, and nobody else would put it back."""
    step().begin()
    moved(cluster, "control-1")
    step("control", "control-2").enter()
    moved(cluster, "control-2")
    cluster.not_ready = {"kube-scheduler-control-2"}
    cluster.away = {"control-2"}
    lines: list[str] = []
    answer = asked(said=lines).check()
    assert answer["control"] == ["control-2", "control-3"]
    assert (answer["open"], "half done" in "\n".join(lines)) == (True, True)
    assert "a former run ended at: API server, controller manager and scheduler of control-2" in lines[-1]
    cluster.away = {"control-3"}
    with pytest.raises(GroundupError, match="control-3 are not Ready"):
        asked().check()


def test_a_kubelet_step_that_was_killed_is_done_again_and_lets_pods_in(cluster: Cluster) -> None:
    step().begin()
    new(cluster, kubelets=())
    step("kubelet", "worker-1").enter()
    cluster.kubelets = dict.fromkeys(NODES, "v1.37.2")
    with pytest.raises(GroundupError, match="worker-1 takes no pods"):
        step().end()
    journal.move(SITE, live="1.37.2")
    assert asked().check()["kubelets"] == [["worker-1"]]
    step("kubelet", "worker-1").leave()
    assert cluster.patched["worker-1"] == {"annotations": {CORDONED: None}, "spec": {"unschedulable": None}}
    step().end()


def test_a_kubelet_that_has_restarted_may_take_its_time_to_say_so(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its Node says the former version, and Ready, of before; then its static pods are not Ready for a while."""
    step().begin()
    new(cluster)
    step("kubelet", "control-3").enter()
    cluster.kubelets["control-3"] = "v1.36.3"
    kubelet = partial(setattr, cluster, "kubelets", dict.fromkeys(NODES, "v1.37.2"))
    later = iter([kubelet, partial(setattr, cluster, "not_ready", set())])
    monkeypatch.setattr("time.sleep", lambda _: next(later)())
    step("kubelet", "control-3").leave()
    assert cluster.patched["control-3"]["spec"] == {"unschedulable": None}
    cluster.not_ready = {"kube-apiserver-control-3"}
    assert step().end()["changed"]
    cluster.not_ready = {"kube-apiserver-control-3"}
    with pytest.raises(GroundupError, match="pod kube-apiserver-control-3 is not Ready"):
        asked().verify()


def test_the_move_to_the_new_version_is_not_forgotten(cluster: Cluster) -> None:
    step().begin()
    new(cluster)
    assert asked().check()["changes"] == ["kubeadm's configuration, kube-proxy and CoreDNS"]


def test_a_cordon_of_somebody_else_stays(cluster: Cluster) -> None:
    step().begin()
    new(cluster)
    cluster.patched["worker-1"] = {"annotations": {}, "spec": {"unschedulable": True}}
    step("kubelet", "worker-1").enter()
    step("kubelet", "worker-1").leave()
    assert cluster.patched["worker-1"] == {"annotations": {}, "spec": {"unschedulable": True}}


def test_add_ons_and_kubelets_wait_for_every_api_server(cluster: Cluster) -> None:
    step().begin()
    moved(cluster, *CONTROL[:2])
    for kind, hosts in (("add-ons", ()), ("kubelet", ("worker-1",))):
        with pytest.raises(GroundupError, match=r"API servers without 1\.37\.2: control-3"):
            step(kind, *hosts).enter()
    assert (opened().steps, opened().live) == ({}, "1.36.3")


def test_a_step_that_is_not_done_says_host_live_versions_and_remedy(cluster: Cluster) -> None:
    step().begin()
    step("control", "control-1").enter()
    with pytest.raises(GroundupError) as caught:
        step("control", "control-1").leave()
    text = str(caught.value)
    assert (
        "stopped at: API server, controller manager and scheduler of control-1: it is not done: control-1 runs" in text
    )
    assert "where:  host control-1. Live now:\n    host       API server" in text
    assert "1. API server" not in text, "what is live, not what is left"
    assert "goes on at this step" in caught.value.remedy
    assert opened().open_steps
    cluster.rolling = {"coredns"}
    moved(cluster, *CONTROL)
    step("add-ons").enter()
    with pytest.raises(GroundupError, match="coredns is not rolled out"):
        step("add-ons").leave()
    with pytest.raises(GroundupError, match="kubelet of worker-2: no space left"):
        step("kubelet", "worker-2").fail("no space left")


def test_a_batch_is_cordoned_before_the_first_pod_goes_and_each_drain_renews_the_lease(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    step().begin()
    new(cluster, kubelets=CONTROL)
    seen: list[Any] = []

    def renewed(site: str) -> list[str]:
        seen.append(site)
        return []

    monkeypatch.setattr(run_lease, "of_site", renewed)
    monkeypatch.setattr(nodes, "drain", lambda _, host, **__: seen.append((host, sorted(cluster.patched))))
    step("kubelet", *WORKERS, evict=True).enter()
    assert seen == [SITE, ("worker-1", [*WORKERS]), SITE, ("worker-2", [*WORKERS])]


def test_pods_that_do_not_go_end_the_run_unless_it_is_accepted(cluster: Cluster) -> None:
    step().begin()
    new(cluster, kubelets=CONTROL)
    cluster.stays = {"web-worker-1"}
    with pytest.raises(GroundupError, match=r"kubelet of worker-1: 1 pod\(s\) are still on worker-1") as caught:
        step("kubelet", "worker-1", evict=True).enter()
    assert "-e kubernetes_upgrade_timeout=SECONDS" in str(caught.value)
    assert opened().open_steps == (UpgradeStep(kind="kubelet", host="worker-1"),)
    step("kubelet", "worker-1", evict=True, force=("undrained",)).enter()
    for name in (*CONTROL, "worker-2"):
        cluster.patched[name] = {"annotations": {}, "spec": {"unschedulable": True}}
    cluster.evicted.clear()
    step("kubelet", "worker-1", evict=True, force=("undrained",)).enter()
    assert cluster.evicted == [], "nobody would take them"


def test_a_run_may_end_before_the_last_control_host(cluster: Cluster) -> None:
    answer = asked(until="checkpoint").check()
    assert (answer["control"], answer["last"]) == (list(CONTROL[:2]), "control-3")
    assert (answer["add_ons"], answer["kubelets"], answer["whole"]) == (False, [], False)
    moved(cluster, *CONTROL[:2])
    assert asked(until="checkpoint").check()["control"] == []
    step().begin()
    step("control", "control-3").enter()  # killed: nobody else puts it back into HAProxy
    answer = asked(until="checkpoint").check()
    assert (answer["control"], answer["last"], answer["whole"]) == (["control-3"], "", False)


def test_a_cluster_that_does_not_answer_in_the_middle_names_the_host_and_its_kubelet(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object, **__: object) -> None:
        raise ApiError("connection refused", where="https://10.79.0.5:6443", status=0)

    step().begin()
    new(cluster, kubelets=())
    step("kubelet", "control-1").enter()
    monkeypatch.setattr(cluster, "get", silent)
    with pytest.raises(GroundupError, match="a former run ended at: kubelet of control-1") as caught:
        asked().check()
    assert "connection refused" in caught.value.what
    assert "without --tags check starts a kubelet that a killed run left stopped" in caught.value.remedy
    assert "on control-1: systemctl status kubelet" in caught.value.remedy
    journal.end(SITE)
    with pytest.raises(ApiError):
        asked().check()


def test_an_upgrade_that_is_open_goes_to_no_other_version() -> None:
    step().begin()
    with pytest.raises(GroundupError, match=r"goes from 1\.36\.3 to 1\.37\.2; the site file says 1\.36\.9") as caught:
        asked("1.36.9").check()
    assert "set kubernetes.version to 1.37.2" in caught.value.remedy


def test_layers_go_by_the_live_version_while_it_is_open(cluster: Cluster) -> None:
    site = load_site(COLLECTION / "inventories/lab-ha/site.yml")
    site = site.model_copy(update={"kubernetes": site.kubernetes.model_copy(update={"version": "1.37.2"})})
    assert (journal.live_plan(site).kubernetes.version, journal.live_plan(site).kubernetes.upgrading) == ("1.37.2", ())
    step().begin()
    plan = journal.live_plan(site)
    assert (plan.kubernetes.version, plan.kubernetes.upgrading) == ("1.36.3", ("1.37.2",))
    assert plan.supply.images["kube-apiserver"].endswith(":v1.36.3")
    moved(cluster, *CONTROL)
    step("add-ons").enter()
    assert journal.live_plan(site).kubernetes.upgrading == ("1.36.3",)
    with pytest.raises(GroundupError, match=r"groundup\.cloud\.rotate waits: Kubernetes is on its way"):
        journal.refuse_open(SITE, "groundup.cloud.rotate")


def test_a_node_that_comes_back_in_the_middle_with_a_third_version_is_upgraded_too(cluster: Cluster) -> None:
    """Hosts refuse a version that the run does not name to them."""
    step().begin()
    moved(cluster, "control-1")
    cluster.kubelets["worker-2"] = "v1.36.1"
    assert asked().check()["target"]["kubernetes"]["upgrading"] == ["1.36.1", "1.36.3"]


WHOLE = {"source": "1", "target": "2", "live": "1", "versions": ["1", "2"], "begun": "now"}
DAMAGED = [WHOLE | one for one in ({"live": None}, {"live": ""}, {"live": "3"}, {"versions": None}, {"begun": ""})]


@pytest.mark.parametrize("text", ["{", "[]", '{"source": "1"}', "5", *map(json.dumps, DAMAGED)])
def test_a_record_that_cannot_be_read_is_never_taken_for_none(text: str, controller: Path) -> None:
    (controller / journal.KUBERNETES.file).write_text(text)
    with pytest.raises(GroundupError, match="the record of an upgrade cannot be read"):
        journal.under_way(SITE)
    (controller / journal.KUBERNETES.file).write_text(json.dumps(WHOLE))
    assert opened().live == "1"


def test_a_step_without_an_upgrade_is_refused(controller: Path) -> None:
    with pytest.raises(GroundupError, match="no upgrade is open"):
        journal.enter(SITE, [UpgradeStep(kind="add-ons")])
    step().begin()
    written = json.loads((controller / journal.KUBERNETES.file).read_text())
    assert (written["source"], written["target"], written["live"]) == ("1.36.3", "1.37.2", "1.36.3")
    begun = written["begun"]
    step().begin()
    assert opened().begun == begun, "one that has begun stays"
