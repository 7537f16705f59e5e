"""What the check of an upgrade sees in a cluster, what it refuses, and what may be accepted."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.consent import Reason
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import upgrade as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import decide, job
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.decide import ROOM, batches, judge, reasons, table
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.job import UpgradeJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.steps import Version
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.survey import FoundCluster, deprecated, survey

CONTROL, WORKERS = ("control-1", "control-2", "control-3"), ("worker-1", "worker-2")
NODES = (*CONTROL, *WORKERS)
ETCD = "10.233.0.9:5000/kubernetes/etcd:3.6.16-0@sha256:00"
METRICS = """\
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="policy",removed_release="1.37",resource="podsecurity",version="v1beta1"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",version="v1"} 1
apiserver_requested_deprecated_apis{group="later",removed_release="1.40",resource="things",version="v1alpha1"} 1
apiserver_requested_deprecated_apis{group="never",removed_release="1.37",resource="asked",version="v1"} 0
"""


class Cluster:
    """Stands for the API of a cluster."""

    def __init__(self, *, kubelet: str = "v1.36.3", control: tuple[str, ...] = CONTROL, metrics: str = "") -> None:
        self.control, self.metrics, self.kubelet = control, metrics, kubelet
        self.nodes = (*control, *WORKERS)
        self.away = set[str]()
        self.budgets: list[dict[str, Any]] = []
        self.bare = False

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Return a list."""
        if path.endswith("/poddisruptionbudgets"):
            return {"items": self.budgets}
        if path.endswith("/nodes"):
            return {"items": [self._node(name) for name in self.nodes]}
        if selector := query.get("labelSelector"):
            component = selector.partition(",")[0].partition("=")[2]
            image = ETCD if component == "etcd" else f"10.233.0.9:5000/kubernetes/{component}:v1.36.3"
            return {"items": [_pod(f"{component}-{name}", name, image) for name in self.control]}
        if path.endswith("/pods"):
            node = query["fieldSelector"].partition("=")[2]
            owned = [] if self.bare else [{"kind": "ReplicaSet"}]
            pod = _pod(f"web-{node}", node, "web:1") | {"status": {"phase": "Running"}}
            pod["metadata"] |= {"ownerReferences": owned}
            return {"items": [pod]}
        return {"items": []}

    def find(self, path: str) -> dict[str, Any]:
        """Return kube-proxy."""
        assert path.endswith("/daemonsets/kube-proxy")
        return {"spec": {"template": _pod("kube-proxy", "", "10.233.0.9:5000/kubernetes/kube-proxy:v1.36.3@sha256:0")}}

    def text(self, path: str) -> str:
        """Return the metrics."""
        assert path == "/metrics"
        return self.metrics

    def _node(self, name: str) -> dict[str, Any]:
        ready = "False" if name in self.away else "True"
        info = {"kubeletVersion": self.kubelet, "containerRuntimeVersion": "containerd://1.7.24"}
        labels = {"node-role.kubernetes.io/control-plane": ""} if name in self.control else {}
        status = {"nodeInfo": info, "conditions": [{"type": "Ready", "status": ready}]}
        return {"metadata": {"name": name, "labels": labels}, "status": status}


def _pod(name: str, node: str, image: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "kube-system", "uid": name},
            "spec": {"nodeName": node, "containers": [{"image": image}]}}  # fmt: skip


def found_in(cluster: Cluster) -> FoundCluster:
    return survey(cluster)  # type: ignore[arg-type]  # a stand-in


def plan_of(site: str = "lab-ha", version: str = "1.37.2") -> Plan:
    written = load_site(COLLECTION / f"inventories/{site}/site.yml")
    return make_plan(
        written.model_copy(update={"kubernetes": written.kubernetes.model_copy(update={"version": version})})
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of()


SAID = {name: {"room": ROOM, "etcd": dict.fromkeys(CONTROL, True) if name in CONTROL else {}} for name in NODES}


def against(plan: Plan, found: FoundCluster, said: dict[str, Any] = SAID) -> list[Reason]:
    return list(reasons(plan, found, judge(plan, found), said))


def test_a_whole_cluster_may_be_upgraded_and_every_part_is_in_the_table(plan: Plan) -> None:
    found = found_in(Cluster())
    judged = judge(plan, found)
    assert against(plan, found) == []
    assert judged.drains
    assert judged.hosts("control") == list(CONTROL)
    assert table(found, judged) == [
        "host       API server  etcd      kubelet  containerd",
        *(f"{name}  1.36.3      3.6.16-0  1.36.3   1.7.24" for name in CONTROL),
        *(f"{name}   -           -         1.36.3   1.7.24" for name in WORKERS),
        "kube-proxy 1.36.3; 1.36.3 -> 1.37.2",
        *(
            f"{number}. API server, controller manager and scheduler of {name}"
            for number, name in enumerate(CONTROL, 1)
        ),
        "4. kubeadm's configuration, kube-proxy and CoreDNS",
        *(f"{number}. kubelet of {name}" for number, name in enumerate(NODES, 5)),
    ]


def test_a_patch_drains_nothing() -> None:
    plan = plan_of(version="1.36.3")
    found = found_in(Cluster(kubelet="v1.36.1"))
    assert not judge(plan, found).drains
    assert [str(step) for step in judge(plan, found).steps] == [f"kubelet of {name}" for name in NODES]


def test_kubelets_of_the_former_minor_are_drained_also_when_every_api_server_is_new(plan: Plan) -> None:
    found = found_in(Cluster())
    new = Version(1, 37, 2)
    moved = replace(found.versions, servers=dict.fromkeys(CONTROL, new), proxy=new)
    judged = judge(plan, replace(found, versions=moved))
    assert {step.kind for step in judged.steps} == {"kubelet"}
    assert judged.drains


def test_control_hosts_change_alone_and_workers_within_the_limit_of_their_group(plan: Plan) -> None:
    assert batches(plan, NODES)[:3] == [[name] for name in CONTROL]
    wide = replace(plan, max_unavailable={**plan.max_unavailable, "worker": 2})
    assert batches(wide, NODES)[3:] == [list(WORKERS)]
    assert batches(plan, WORKERS) == [[name] for name in WORKERS]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"control-2": {"unreachable": True, "msg": "no route"}}, "control-2 does not answer: no route"),
        ({"worker-1": {}}, "worker-1 does not answer: it was not asked"),
        (
            {"control-1": {"room": ROOM, "etcd": {"control-3": False}}},
            "control-1 says that etcd of control-3 is not healthy",
        ),
        ({"control-2": {"room": ROOM, "etcd": {}}}, "no etcd is known of control-2"),
        (
            {"control-3": {"room": ROOM, "etcd": {"control-2": True, "control-3": True}}},
            "etcd of control-3 has the members control-2, control-3; control hosts are control-1, control-2, control-3",
        ),
        ({"worker-1": {"room": 300 << 20, "etcd": {}}}, "worker-1 has 300 MiB free for images, and needs 2048"),
    ],
)
def test_a_host_that_is_silent_sick_or_full_cannot_be_accepted(plan: Plan, said: dict[str, Any], text: str) -> None:
    assert against(plan, found_in(Cluster()), SAID | said) == [Reason(text=text)]


def test_a_node_that_is_not_ready_missing_or_nobodys_cannot_be_accepted(plan: Plan) -> None:
    cluster = Cluster()
    cluster.away = {"worker-2"}
    cluster.nodes = (*CONTROL, "worker-2", "stranger")
    texts = [one.text for one in against(plan, found_in(cluster)) if one.code is None]
    assert texts == [
        "worker-1 are no nodes of the cluster, and the layer kubernetes makes them such",
        "stranger are nodes and not in the site file: nothing upgrades them",
        "worker-2 are not Ready",
    ]


def test_a_version_outside_the_matrix_is_refused() -> None:
    texts = [one.text for one in against(plan_of(version="1.37.0"), found_in(Cluster()))]
    assert texts == ["1.37.0 is not in the version matrix: 1.36.3, 1.37.2 are"]


def test_one_control_host_needs_consent_to_the_seconds_without_an_api() -> None:
    cluster = Cluster(control=("control-1",))
    found = found_in(cluster)
    codes = {
        one.code: one.text for one in reasons(plan_of("lab"), found, judge(plan_of("lab"), found), SAID) if one.code
    }
    assert "45 s without the Kubernetes API" in codes[decide.API_DOWN]


def test_apis_that_the_target_does_not_have_are_named_and_later_ones_are_not(plan: Plan) -> None:
    assert [one.name for one in deprecated(METRICS)] == ["later/v1alpha1 things", "policy/v1beta1 podsecurity"]
    (reason,) = against(plan, found_in(Cluster(metrics=METRICS)))
    assert reason.code == decide.DEPRECATED
    assert reason.text.endswith("does not have: policy/v1beta1 podsecurity (gone in 1.37)")


def test_budgets_that_block_and_pods_without_a_controller_need_consent(plan: Plan) -> None:
    cluster = Cluster()
    cluster.budgets = [
        {"metadata": {"namespace": "openstack", "name": name}, "status": status}
        for name, status in (
            ("mariadb", {"expectedPods": 1, "disruptionsAllowed": 0}),
            ("gone", {"expectedPods": 0, "disruptionsAllowed": 0}),
            ("free", {"expectedPods": 3, "disruptionsAllowed": 1}),
        )
    ]
    cluster.bare = True
    found = {one.code: one.text for one in against(plan, found_in(cluster))}
    assert found[decide.UNDRAINED] == "these PodDisruptionBudgets allow no eviction now: openstack/mariadb"
    assert "kube-system/web-worker-1" in found[decide.BARE]


def asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, version: str = "1.37.2", force: tuple[str, ...] = ()
) -> UpgradeJob:
    """Return a job on lab-ha, whose cluster is a stand-in."""
    monkeypatch.setattr(job, "kubeconfig_path", lambda _: tmp_path)
    (tmp_path / "admin.conf").touch()
    monkeypatch.setattr(job, "kubeconfig_path", lambda _: tmp_path / "admin.conf")
    monkeypatch.setattr(job, "Api", lambda _: Cluster())
    monkeypatch.setattr(UpgradeJob, "plan", lambda _, other=None: plan_of(version=other or version))
    monkeypatch.setattr(job, "preview", lambda before, after: f"{before.kubernetes.version}>{after.kubernetes.version}")
    return UpgradeJob(site_file="site.yml", say=lambda _: None, seen=SAID, force=force)


def test_the_check_returns_steps_batches_and_the_diff(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = asked(monkeypatch, tmp_path).check()
    assert (done["changed"], done["source"], done["control"]) == (False, "1.36.3", list(CONTROL))
    assert done["diff"] == {"prepared": "1.36.3>1.37.2"}
    assert len(done["changes"]) == 9


def test_an_upgrade_that_is_wanted_is_refused_and_one_that_is_done_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(GroundupError, match=r"not upgraded from 1\.36\.3 to 1\.37\.2") as caught:
        asked(monkeypatch, tmp_path).apply()
    assert "set kubernetes.version to 1.36.3" in caught.value.remedy
    assert asked(monkeypatch, tmp_path, version="1.36.3").apply()["changes"] == []


def test_verification_names_what_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="left: API server, controller manager and scheduler of control-1"):
        asked(monkeypatch, tmp_path).verify()
    assert asked(monkeypatch, tmp_path, version="1.36.3").verify()["msg"] == "Kubernetes 1.36.3 on 5 nodes"


def test_a_risk_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="no risk everything to accept"):
        asked(monkeypatch, tmp_path, force=("everything",)).check()


def test_a_host_says_its_room_and_an_etcd_that_cannot_be_asked_is_not_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = NodeHost(name="control-1", paths=Paths(root=tmp_path))
    (tmp_path / "var/lib/containerd").mkdir(parents=True)
    assert on_host.room(host) == {
        "changed": False,
        "room": pytest.approx(shutil.disk_usage(tmp_path).free, abs=1 << 30),
        "etcd": {},
    }
    (tmp_path / "var/lib/etcd/member").mkdir(parents=True)

    class Silent:
        def __init__(self, _: NodeHost) -> None: ...

        def members(self) -> None:
            raise NodeApiError("connection refused")

    monkeypatch.setattr(on_host, "Etcd", Silent)
    assert on_host.room(host)["etcd"] == {"control-1": False}


def test_the_version_of_a_plan_is_the_target(plan: Plan) -> None:
    assert judge(plan, found_in(Cluster())).target == Version(1, 37, 2)
