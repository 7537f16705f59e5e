"""One release on its way up: what helm, the cluster and the service answer, and what becomes of it."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.verification import Check, Verification
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.manifests import split
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.preview import ChangePreview
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import LiveRelease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Finished, InterruptedRunError, Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply import deploy as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.deploy import DeployResult, Tools, deploy
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.progress import ReleaseProgress
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.watch import ClusterView
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutOptions

RELEASE = ReleasePlan(
    name="keystone", chart="keystone", version="2026.1.0", namespace="openstack", needs=(), verify="keystone", values={}
)  # fmt: skip


def packed(content: dict[str, Any]) -> str:
    """Return ``content`` as Helm keeps it in a Secret."""
    return base64.b64encode(base64.b64encode(gzip.compress(json.dumps(content).encode()))).decode()


class Cluster:
    """Helm's records and nothing else."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}

    def record(self, status: str) -> None:
        name = "sh.helm.release.v1.keystone.v1"
        labels = {"owner": "helm", "name": "keystone", "version": "1", "status": status}
        content = {"manifest": "", "hooks": [], "info": {"status": status}}
        meta = {"name": name, "namespace": "openstack", "labels": labels}
        self.records[name] = {"metadata": meta, "data": {"release": packed(content)}}

    def get(self, path: str, **_query: str) -> Mapping[str, Any]:
        return {"items": list(self.records.values()) if path.endswith("/secrets") else []}

    def find(self, _path: str) -> Any:
        return None

    def logs(self, *_: Any, **__: Any) -> str:
        return "its last words"

    def delete(self, path: str) -> None:
        del self.records[path.rpartition("/")[2]]


class Helm:
    """Ends as told; like helm, an install that fails leaves its record."""

    def __init__(self, cluster: Cluster, *ends: Finished) -> None:
        self.cluster, self.ends, self.found = cluster, list(ends), list[list[str]]()
        self.timeouts: list[int] = []

    def upgrade(self, *_arguments: Any, timeout: int, **_more: Any) -> Finished:
        self.timeouts.append(timeout)
        self.found.append([item["metadata"]["labels"]["status"] for item in self.cluster.records.values()])
        done = self.ends.pop(0)
        self.cluster.record("pending-install" if done.code else "deployed")
        return done

    def uninstall(self, *_arguments: Any, **_more: Any) -> Finished:
        return Finished(code=1, stdout="", stderr="Error: forbidden")


def up(
    cluster: Cluster,
    helm: Helm,
    *,
    live: LiveRelease | None = None,
    verification: Verification | None = None,
    verify_timeout: float = 30.0,
    objects: tuple[dict[str, Any], ...] = (),
    processes: Processes | None = None,
    release: ReleasePlan = RELEASE,
) -> tuple[DeployResult, list[str]]:
    said: list[str] = []
    answers = verification or Verification(checks=(Check(name="token", ok=True, detail=""),))
    asked: list[str] = []

    def ask(release: ReleasePlan) -> Verification:
        asked.append(release.name)
        return answers

    api: Any = cluster
    view = ClusterView(api)
    for item in objects:
        view._put(item)
    tools: Any = Tools(
        api=api, helm=helm, view=view, progress=ReleaseProgress(["keystone"], said.append),  # type: ignore[arg-type]  # a stand-in
        processes=processes or Processes(),
        options=RolloutOptions(verify_timeout=verify_timeout), resolve=dict, ask=ask,
    )  # fmt: skip
    rendered = split("keystone", "openstack", [item for item in objects if item["kind"] != "Pod"])
    lives = {"keystone": live} if live else {}
    found = ChangePreview(rendered={"keystone": rendered}, live=lives, diffs={}, broken={})
    return deploy(release, found, tools), asked


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    monkeypatch.setattr(module, "_GLANCE", 0.0)


def test_a_second_chance_begins_with_what_the_first_left_behind() -> None:
    """Helm goes on from no pending install, and upgrades one that failed: without the hooks that make the keys."""
    cluster = Cluster()
    refused = Finished(code=1, stdout="", stderr="Error: dial tcp 10.0.0.1:6443: connect: connection refused")
    helm = Helm(cluster, refused, Finished(code=0, stdout="", stderr=""))
    outcome, _ = up(cluster, helm)
    assert helm.found == [[], []]
    assert outcome.symptom is None


def test_helm_is_not_tried_for_ever_while_the_api_is_away() -> None:
    away = Finished(code=1, stdout="", stderr='Error: UPGRADE FAILED: Get "https://10.0.0.1:6443/version": EOF')
    helm = Helm(Cluster(), *[away] * 4)
    outcome, _ = up(Cluster(), helm)
    assert outcome.symptom is not None
    assert "EOF" in outcome.symptom.message
    assert len(helm.found) == 4


def test_a_slow_release_has_longer_to_start() -> None:
    cluster = Cluster()
    helm = Helm(cluster, Finished(code=0, stdout="", stderr=""))
    up(cluster, helm, release=replace(RELEASE, slowness=1.5))
    assert helm.timeouts == [1800]


def test_what_cannot_be_healed_takes_down_its_own_release_only() -> None:
    """An error that left the thread would end the helm of every other release on its way."""
    cluster = Cluster()
    half = LiveRelease(
        name="keystone", namespace="openstack", revision=1, status="uninstalling", chart="keystone",
        chart_version="2026.1.0", deployed_before=True, digest="", objects=(), hooks=(),
    )  # fmt: skip
    outcome, _ = up(cluster, Helm(cluster), live=half)
    assert outcome.symptom is not None
    assert "release keystone cannot be uninstalled: Error: forbidden" in outcome.symptom.message
    assert "helm --namespace openstack uninstall keystone" in outcome.symptom.message


def test_a_job_of_an_earlier_run_is_not_blamed_for_this_ones_failure() -> None:
    """Helm makes each hook anew when its turn comes; until then the failed one of before is still there."""
    meta = {"namespace": "openstack", "annotations": {"helm.sh/hook": "post-install"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {**meta, "name": "bootstrap", "uid": "old"}}
    owner = {"kind": "Job", "name": "bootstrap", "controller": True}
    container = {"name": "bootstrap", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    failed = {"kind": "Pod", "metadata": {"name": "bootstrap-1", "namespace": "openstack", "ownerReferences": [owner]},
              "status": {"phase": "Failed", "containerStatuses": [container]}}  # fmt: skip
    cluster = Cluster()
    forbidden = Finished(code=1, stdout="", stderr="Error: services is forbidden")
    outcome, _ = up(cluster, Helm(cluster, forbidden), objects=(job, failed))
    assert outcome.symptom is not None
    assert (outcome.symptom.object, outcome.symptom.message) == ("release keystone", "Error: services is forbidden")


def test_pods_that_an_earlier_run_left_without_an_image_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet tries again every five minutes, a card comes after 45 seconds. And a StatefulSet replaces no second
    pod before the first is ready, which waits for the others.
    """
    stuck = {"state": {"waiting": {"reason": "ImagePullBackOff"}}}
    running: dict[str, Any] = {"state": {"running": {}}}
    states = {"0": [stuck], "1": [running], "2": [stuck], "3": [running, stuck]}
    server = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "openstack"},
              "spec": {"replicas": 3}, "status": {"readyReplicas": 3}}  # fmt: skip
    owner = {"kind": "StatefulSet", "name": "s", "controller": True}
    pods = [
        {"kind": "Pod", "status": {"containerStatuses": containers}, "metadata": {
            "name": f"s-{ordinal}", "namespace": "openstack", "uid": f"uid-{ordinal}", "ownerReferences": [owner]}}
        for ordinal, containers in states.items()
    ]  # fmt: skip
    cluster = Cluster()
    removed: list[tuple[str, Any]] = []

    def delete(path: str, *, body: Any = None) -> None:
        removed.append((f"DELETE {path.rpartition('/')[2]}", body))
        if path.endswith("s-2"):
            raise ApiError("another has its name already", where=path, status=409)

    monkeypatch.setattr(cluster, "delete", delete)
    outcome, _ = up(cluster, Helm(cluster, Finished(code=0, stdout="", stderr="")), objects=(server, *pods))
    assert outcome.symptom is None
    assert removed == [(f"DELETE s-{one}", {"preconditions": {"uid": f"uid-{one}"}}) for one in (0, 2)]


def test_a_password_that_is_refused_is_not_tried_again() -> None:
    """Keystone locks an account after five wrong passwords: asking on would lock the administrator out."""
    refused = Check(name="token", ok=False, detail="the password is refused", layer="credentials")
    cluster = Cluster()
    helm = Helm(cluster, Finished(code=0, stdout="", stderr=""))
    outcome, asked = up(cluster, helm, verification=Verification(checks=(refused,)), verify_timeout=2.0)
    assert outcome.symptom is not None
    assert outcome.symptom.checks == (refused,)
    assert asked == ["keystone"]


def test_a_run_that_is_told_to_stop_is_no_failure_of_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()

    def stopped(*_: Any, **__: Any) -> Finished:
        raise InterruptedRunError

    helm = Helm(cluster)
    monkeypatch.setattr(helm, "upgrade", stopped)
    with pytest.raises(InterruptedRunError):
        up(cluster, helm)


def test_a_release_that_waited_for_its_turn_changes_nothing_once_the_run_is_told_to_stop() -> None:
    """Another controller may hold the lease by then: also records of Helm that need healing are left to it."""
    cluster, processes = Cluster(), Processes()
    cluster.record("pending-install")
    half = LiveRelease(
        name="keystone", namespace="openstack", revision=1, status="pending-install", chart="keystone",
        chart_version="2026.1.0", deployed_before=False, digest="", objects=(), hooks=(),
    )  # fmt: skip
    processes.stop()
    with pytest.raises(InterruptedRunError):
        up(cluster, Helm(cluster), live=half, processes=processes)
    assert len(cluster.records) == 1
