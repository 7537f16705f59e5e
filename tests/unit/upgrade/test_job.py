"""The steps of the module, and what a host says of itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import upgrade as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import job
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.job import UpgradeJob

from .cluster import CONTROL, FILES, NODES, PROGRAMS, SAID, Cluster, plan_of


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


def test_verification_names_what_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="left: API server, controller manager and scheduler of control-1"):
        asked(monkeypatch, tmp_path).verify()
    assert asked(monkeypatch, tmp_path, version="1.36.3").verify()["msg"] == "Kubernetes 1.36.3 on 5 nodes"


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (
            {"half": {"kube-scheduler-control-2": "v1.36.1"}},
            "API server, controller manager and scheduler of control-2; "
            "kubeadm's configuration, kube-proxy and CoreDNS",
        ),
        ({"not_ready": {"kube-controller-manager-control-1"}}, "pod kube-controller-manager-control-1 is not Ready"),
        ({"half": {"kube-scheduler-control-3": "latest"}}, "no kube-scheduler is known of control-3"),
        ({"gone": {"kube-apiserver-control-2"}}, "no kube-apiserver is known of control-2"),
        ({"dns": "v1.13.0"}, "kubeadm's configuration, kube-proxy and CoreDNS"),
    ],
)
def test_a_control_plane_that_is_half_upgraded_or_broken_is_not_whole(
    change: dict[str, Any], left: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster = Cluster()
    vars(cluster).update(change)
    this = asked(monkeypatch, tmp_path, version="1.36.3")
    monkeypatch.setattr(job, "Api", lambda _: cluster)
    with pytest.raises(GroundupError, match=f"; left: {left}\n"):
        this.verify()


def test_the_cluster_is_listed_once_and_pods_only_of_nodes_that_are_drained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    once = ["nodes", "pods tier=control-plane", "poddisruptionbudgets"]
    for version, kubelet, drained in (
        ("1.36.3", "v1.36.3", ()),
        ("1.36.3", "v1.36.1", ()),
        ("1.37.2", "v1.36.3", NODES),
    ):
        cluster = Cluster(kubelet=kubelet)
        this = asked(monkeypatch, tmp_path, version=version)
        monkeypatch.setattr(job, "Api", lambda _, cluster=cluster: cluster)
        this.check()
        assert cluster.asked == [*once, *(f"pods spec.nodeName={name}" for name in drained)]
    cluster.asked.clear()
    with pytest.raises(GroundupError, match="left"):
        this.verify()
    assert cluster.asked == once


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
        "versions": dict.fromkeys((*PROGRAMS, *FILES), ""),
    }
    (tmp_path / "var/lib/etcd/member").mkdir(parents=True)

    class Silent:
        def __init__(self, _: NodeHost) -> None: ...

        def members(self) -> None:
            raise NodeApiError("connection refused")

    monkeypatch.setattr(on_host, "Etcd", Silent)
    assert on_host.room(host)["etcd"] == {"control-1": False}
