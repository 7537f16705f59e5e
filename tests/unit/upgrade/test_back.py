"""The former version in the site file while an upgrade is open: it goes back where no part has the other one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.job import UpgradeJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.run import UpgradeRun
from jinja2 import Environment

from .cluster import CONFIGURED, ETCD, SAID, Cluster
from .running import SITE, asked, opened, step

FORMER, TO = "1.36.3", "1.37.2"
KUBEADM = "/usr/local/bin/kubeadm"


@pytest.fixture(autouse=True)
def begun(controller: object) -> None:
    """An upgrade that was killed before its first step."""
    del controller
    step().begin()


def seeing(host: str, **versions: str) -> dict[str, Any]:
    """Return what hosts say, one of them with other ``versions``."""
    said: dict[str, Any] = SAID[host]
    return {**SAID, host: said | {"versions": said["versions"] | versions}}


def refused(job: UpgradeJob) -> GroundupError:
    """Have the check and the step that closes the journal refuse, each by itself; return the last error."""
    before = opened()
    for work in (job.check, UpgradeRun(job=job).back):
        with pytest.raises(GroundupError) as caught:
            work()
    assert opened() == before
    return caught.value


def test_an_upgrade_that_has_changed_nothing_goes_back_and_can_be_made_again() -> None:
    said: list[str] = []
    job = asked(FORMER, said)
    answer = job.check()
    assert (answer["back"], answer["changes"]) == (True, [f"give up the upgrade to {TO}: no part has it"])
    assert (answer["open"], answer["staged"], answer["control"], answer["kubelets"]) == (False, [], [], [])
    assert journal.under_way(SITE), "a check writes nothing"
    assert UpgradeRun(job=job).back() == {"changed": True}
    assert said[0] == f"[upgrade] give up the upgrade to {TO}: no part has it"
    assert said[1].startswith(f"[upgrade] closed: every part has {FORMER}, as before 20")
    assert journal.under_way(SITE) is None
    assert job.verify()["msg"] == f"Kubernetes {FORMER} on 5 nodes"
    assert (job.check()["back"], job.check()["changes"]) == (False, [])
    assert UpgradeRun(job=job).back() == {"changed": False}, "another run was first"
    assert asked(TO).check()["control"], "it can be made again"


def test_a_step_that_begun_and_changed_nothing_and_a_sick_node_hold_up_no_way_back(cluster: Cluster) -> None:
    """What stopped it may be mended with the former version alone; nodes that were older stay so."""
    step("control", "control-1").enter()
    cluster.away, cluster.not_ready = {"worker-2"}, {"kube-scheduler-control-2"}
    cluster.kubelets = {"worker-1": "v1.36.1"}
    assert UpgradeRun(job=asked(FORMER)).back()["changed"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"half": {"kube-apiserver-control-2": "v1.37.2"}}, "the control plane of control-2 is 1.37.2"),
        ({"half": {"kube-scheduler-control-3": "v1.37.2"}}, "the control plane of control-3 is 1.37.2"),
        (
            {"half": {"kube-apiserver-control-2": "latest"}},
            "the version of the control plane of control-2 is not known",
        ),
        ({"kubelets": {"worker-2": "v1.37.2"}}, "the kubelet of worker-2 is 1.37.2"),
        ({"kubelets": {"worker-2": "devel"}}, "the version of the kubelet of worker-2 is not known"),
        ({"proxy": "v1.37.2"}, "kube-proxy is 1.37.2"),
        ({"dns": "v1.14.6"}, "CoreDNS is 1.14.6"),
        ({"recorded": "v1.37.2"}, "ConfigMap kubeadm-config is 1.37.2"),
        ({"recorded": None}, "the version of ConfigMap kubeadm-config is not known"),
        (
            {"patched": {"worker-1": {"annotations": {"groundup.cloud/cordoned": "kubernetes_upgrade"}, "spec": {}}}},
            "worker-1 takes no pods: the step of its kubelet had begun",
        ),
    ],
)
def test_a_cluster_of_which_a_part_is_new_or_unknown_goes_forward_alone_and_says_which(
    change: dict[str, Any], named: str, cluster: Cluster
) -> None:
    vars(cluster).update(change)
    error = refused(asked(FORMER))
    assert error.what == f"the upgrade from {FORMER} to {TO} does not go back: {named}"
    assert error.remedy == (
        "mend what does not answer, and run this again. Of what is newer: set kubernetes.version to 1.37.2, and run "
        "this again; or docs/upgrade.md, The way back"
    )


@pytest.mark.parametrize(
    ("seen", "named"),
    [
        (seeing("control-1", **{KUBEADM: "v1.37.2"}), f"{KUBEADM} of control-1 is 1.37.2"),
        (seeing("worker-2", **{KUBEADM: ""}), f"the version of {KUBEADM} of worker-2 is not known"),
        (seeing("control-1", **{CONFIGURED: "v1.37.2"}), f"{CONFIGURED} of control-1 is 1.37.2"),
        (seeing("control-3", **{CONFIGURED: ""}), f"the version of {CONFIGURED} of control-3 is not known"),
        (
            seeing("control-2", **{"/etc/kubernetes/manifests/etcd.yaml": ETCD.replace("3.6.16", "3.7.0")}),
            "/etc/kubernetes/manifests/etcd.yaml of control-2 is 3.7.0",
        ),
        (
            seeing("control-2", **{"/etc/kubernetes/manifests/kube-apiserver.yaml": "10.233.0.9:5000/api:v1.37.2"}),
            "/etc/kubernetes/manifests/kube-apiserver.yaml of control-2 is 1.37.2",
        ),
        ({**SAID, "worker-1": {"unreachable": True, "msg": "no route"}}, "worker-1 does not answer: no route"),
        ({name: one for name, one in SAID.items() if name != "worker-1"}, "worker-1 does not answer: it was not asked"),
    ],
)
def test_a_host_of_which_a_file_is_new_or_that_cannot_be_asked_holds_up_the_way_back(
    seen: dict[str, Any], named: str
) -> None:
    assert refused(asked(FORMER, seen=seen)).what.endswith(f"does not go back: {named}")


def test_an_upgrade_that_moved_goes_forward_alone() -> None:
    journal.move(SITE, live=TO)
    assert f"does not go back: every API server had {TO}" in refused(asked(FORMER)).what


def test_an_etcd_that_is_newer_than_beside_the_former_version_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    static = cluster._static
    newer = ETCD.replace("3.6.16", "3.7.0")

    def changed(component: str, node: str) -> dict[str, Any]:
        pod = static(component, node)
        if (component, node) == ("etcd", "control-2"):
            pod["spec"]["containers"] = [{"image": newer}]
        return pod

    monkeypatch.setattr(cluster, "_static", changed)
    assert "does not go back: etcd of control-2 is 3.7.0" in refused(asked(FORMER)).what


@pytest.mark.parametrize("asks", ["get", "find"])
def test_a_cluster_that_does_not_answer_is_not_taken_for_the_former_one(
    asks: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object, **__: object) -> None:
        raise ApiError("connection refused", where="https://10.79.0.5:6443", status=0)

    monkeypatch.setattr(cluster, asks, silent)
    assert "connection refused" in refused(asked(FORMER)).what


def test_the_playbook_gives_up_by_what_hosts_said_and_does_nothing_else() -> None:
    (decide,) = (
        play
        for play in yaml.safe_load((COLLECTION / "playbooks/kubernetes_upgrade.yml").read_text())
        if play["name"] == "Decide"
    )
    check, back, says = decide["tasks"]
    assert back["groundup.cloud.upgrade"]["step"] == "back"
    assert back["groundup.cloud.upgrade"]["seen"] == check["groundup.cloud.upgrade"]["seen"] == "{{ upgrade_seen }}"
    assert (back["when"], back["tags"]) == ("not groundup_dry_run and upgrade_found.back", ["apply"])
    answer = asked(FORMER).check()
    facts = says["ansible.builtin.set_fact"].items()
    given = {"groundup_dry_run": False, "upgrade_found": answer}
    found = {name: Environment(autoescape=True).compile_expression(text.strip("{} "))(given) for name, text in facts}
    assert found == {"upgrade_due": False, "upgrade_new": False}
