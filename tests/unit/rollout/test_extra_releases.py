"""Releases of the site's own: walls of their namespace, what they do elsewhere, and whether they run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import chart_arguments
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.manifests import split
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.preview import ChangePreview
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.ready import waiting
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import ChartError, LiveRelease
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ExtraReleasePlan, ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.namespaces import EXTRA, objects, place
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate.extra import reach, reasons_against_extra
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.session import session
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError

from .fake_keystone import record


def release(name: str, *needs: str, namespace: str = "") -> ReleasePlan:
    return ReleasePlan(
        name=name, chart=f"/charts/{name}", version="1.0.0", namespace=namespace or name, needs=needs,
        verify="workloads", values={},
    )  # fmt: skip


def plan(*releases: ReleasePlan, **fields: Any) -> Any:
    made: Any = {"values": {}, "images": {}, "ports": (), "pod_security": "baseline"} | fields
    extra = {one.name: ExtraReleasePlan(**made) for one in releases}
    openstack = SimpleNamespace(releases=releases, extra_releases=extra, namespace="openstack")
    return SimpleNamespace(openstack=openstack, profile="rack")


def rules(namespace: str, *releases: ReleasePlan, **fields: Any) -> list[Any]:
    found = [item for item in objects(plan(*releases, **fields)) if item["kind"] == "NetworkPolicy"]
    policy = next(item for item in found if item["metadata"]["namespace"] == namespace)
    assert policy["spec"]["podSelector"] == {}
    return list(policy["spec"]["ingress"])


def test_pods_without_requests_have_a_weight_on_small_machines() -> None:
    small, changes = plan(), Changes(check=True)
    small.profile = "lab"
    place(None, small, changes)
    assert changes.done == ["LimitRange openstack/groundup"]


def test_a_namespace_admits_its_own_pods_alone() -> None:
    assert rules("one", release("one"), release("two")) == [{"from": [{"podSelector": {}}]}]


def test_open_ports_and_namespaces_of_those_that_need_it_are_admitted() -> None:
    found = rules("one", release("one"), release("two", "one"), ports=(9090,))
    assert found[1]["from"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "two"}}}]
    assert found[2] == {"ports": [{"protocol": "TCP", "port": 9090}]}


@pytest.mark.parametrize("level", ["baseline", "restricted", "privileged"])
def test_a_namespace_enforces_the_level_of_pod_security(level: str) -> None:
    space = next(iter(objects(plan(release("one"), pod_security=level))))
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == level
    assert EXTRA in space["metadata"]["labels"]


def test_before_there_is_a_cluster_namespaces_are_predicted_and_without_extra_releases_none() -> None:
    changes = Changes(check=True)
    place(None, plan(release("one")), changes)
    assert changes.done == ["Namespace one", "NetworkPolicy one/groundup"]
    nothing = Changes(check=True)
    place(None, plan(), nothing)
    assert nothing.done == []


def item(kind: str, **meta: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", **meta}}


def judged(*items: dict[str, Any], live: str = "", spaces: tuple[str, ...] = ("one",), there: bool = True) -> Any:
    one = release("one")
    moved = {}
    if live:
        moved["one"] = LiveRelease(
            name="one", namespace=live, revision=1, status="deployed", chart="one", chart_version="1.0.0",
            deployed_before=True, digest="d", objects=(), hooks=(),
        )  # fmt: skip
    preview = ChangePreview(rendered={"one": split("one", "one", items)}, live={}, diffs={}, broken={}, moved=moved)
    api: Any = SimpleNamespace(find=lambda _path: {} if not there else {"kind": "Namespace"})
    found = reasons_against_extra(plan(one), preview, api=api, spaces=spaces)
    return {reason.code: reason.what for reason in found}, reach(one, preview)


def test_what_it_makes_in_another_namespace_is_refused() -> None:
    reasons, _ = judged(item("Secret", namespace="openstack"), item("ConfigMap"), item("Service", namespace="one"))
    assert list(reasons) == ["other-namespace"]
    assert "Secret/x in namespace openstack" in reasons["other-namespace"]


def test_what_it_makes_for_the_cluster_and_its_hooks_are_told() -> None:
    hook = item("Job")
    hook["metadata"]["annotations"] = {"helm.sh/hook": "post-install"}
    reasons, said = judged(item("ClusterRole"), hook)
    assert (reasons, said) == ({}, "makes for the whole cluster: ClusterRole/x; runs hooks: Job/x (post-install)")


def test_a_namespace_that_no_run_has_made_is_refused_and_one_to_come_is_not() -> None:
    assert "namespace-taken" in judged(spaces=())[0]
    assert judged(spaces=(), there=False)[0] == {}


def test_another_namespace_of_a_live_release_is_refused() -> None:
    assert "is live in namespace before" in judged(live="before")[0]["moved"]


def test_helm_takes_the_chart_from_its_path_wherever_those_of_ours_come_from(tmp_path: Any) -> None:
    (tmp_path / "Chart.yaml").write_text("name: one\nversion: 1.0.0\n")
    for charts in ("oci://registry.test/charts", "https://charts.test", "/charts"):
        assert chart_arguments(charts, str(tmp_path), "1.0.0") == [str(tmp_path)]
    digest = f"oci://registry.test/one@sha256:{'0' * 64}"
    assert chart_arguments("/charts", digest, "1.0.0") == [digest, "--version", "1.0.0"]
    for wrong in ("1.0.1", "1"):
        with pytest.raises(ChartError, match=r"there is no chart of version"):
            chart_arguments("/charts", str(tmp_path), wrong)


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec: {replicas: 1, selector: {matchLabels: {a: b}}}
"""


@pytest.mark.parametrize(
    ("records", "ready", "why"),
    [
        ([], 1, "it is not installed"),
        ([record("one", manifest=DEPLOYMENT)], 1, ""),
        ([record("one", manifest=DEPLOYMENT)], 0, "Deployment/api: 0 of 1 pods ready"),
        ([record("one", manifest=DEPLOYMENT)], None, "Deployment/api: it is gone"),
        ([record("one", status="failed", manifest=DEPLOYMENT)], 1, "Helm's record says failed"),
    ],
)
def test_a_release_without_a_verifier_works_when_its_workloads_do(
    records: list[dict[str, Any]], ready: int | None, why: str
) -> None:
    status = {"updatedReplicas": 1, "replicas": 1, "availableReplicas": ready}
    found = None if ready is None else {"metadata": {"name": "api"}, "spec": {"replicas": 1}, "status": status}
    api: Any = SimpleNamespace(
        get=lambda path, **_: {"items": records if path.endswith("secrets") else []}, find=lambda _path: found
    )
    assert waiting(api, release("one", namespace="openstack")) == why


@pytest.mark.parametrize("fields", [{"values": "./nowhere.yml"}, {"chart": "./nowhere"}])
def test_without_its_files_nothing_is_rolled_out_with_the_charts_own_values(tmp_path: Path, fields: Any) -> None:
    site = yaml.safe_load((COLLECTION / "inventories/lab/site.yml").read_text())
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart/Chart.yaml").write_text("name: own\nversion: 1.0.0\n")
    site["openstack"]["extra_releases"] = {"own": {"chart": "./chart", "version": "1.0.0"} | fields}
    (tmp_path / "site.yml").write_text(yaml.safe_dump(site))
    with (
        pytest.raises(RolloutError, match=r"nowhere"),
        session(str(tmp_path / "site.yml"), say=print, reads_only=True),
    ):
        pytest.fail("it was opened")
