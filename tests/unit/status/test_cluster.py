"""Nodes and releases: what is not there yet, what is not ready, and what has another version."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import LiveRelease
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.cluster import node_rows, release_row
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.nodes import CORDONED, OURS


def node(*, ready: str = "True", cordoned: bool = False) -> dict[str, Any]:
    told = {"type": "Ready", "status": ready, "message": "kubelet stopped posting node status"}
    return {
        "metadata": {"name": "n"}, "spec": {"unschedulable": True} if cordoned else {},
        "status": {"conditions": [told], "nodeInfo": {"kubeletVersion": "v1.36.3"}},
    }  # fmt: skip


def test_nodes_are_ready_cordoned_away_or_leftover(plan: Plan) -> None:
    ours = [name for name, host in plan.hosts.items() if host.node_labels]
    assert {"control-1", "worker-1"} <= set(ours)
    rows = {row.name: row for row in node_rows(plan, {"control-1": node(ready="Unknown"), "gone-1": node()})}
    assert rows["control-1"].what == "not Ready: kubelet stopped posting node status"
    assert rows["control-1"].state == "broken"
    assert rows["worker-1"].state == "not made"
    assert (rows["gone-1"].state, rows["gone-1"].remedy.split()[-1]) == ("warning", "machine=gone-1")
    well = {row.name: row for row in node_rows(plan, {"control-1": node(), "worker-1": node(cordoned=True)})}
    assert (well["control-1"].state, well["control-1"].what) == ("ok", "v1.36.3")
    assert (well["worker-1"].state, well["worker-1"].remedy) == ("warning", "kubectl uncordon worker-1")
    assert well["worker-1"].facts == {"version": "v1.36.3", "cordoned": True}
    held = node(cordoned=True)
    held["metadata"]["annotations"] = {CORDONED: OURS}
    (row,) = [one for one in node_rows(plan, {"worker-1": held}) if one.name == "worker-1"]
    assert row.remedy == "run the playbook groundup.cloud.kubernetes_upgrade"


def release(plan: Plan, **changes: Any) -> LiveRelease:
    item = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "keystone-api", "namespace": "openstack"},
    }
    given: dict[str, Any] = {
        "name": "keystone", "namespace": "openstack", "revision": 3, "status": "deployed", "chart": "keystone",
        "chart_version": WANTED(plan).version, "deployed_before": True, "digest": "", "objects": (item,), "hooks": (),
        "app_version": "2026.1",
    }  # fmt: skip
    return LiveRelease(**given | changes)


def WANTED(plan: Plan) -> Any:  # noqa: N802  # what the plan has
    return next(one for one in plan.openstack.releases if one.name == "keystone")


def workload(ready: int, *, replicas: int = 3) -> dict[tuple[str, str, str], dict[str, Any]]:
    status = {"readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": replicas, "replicas": replicas}
    found = {"kind": "Deployment", "spec": {"replicas": replicas}, "status": status}
    return {("Deployment", "openstack", "keystone-api"): found}


@pytest.mark.parametrize(
    ("changes", "ready", "state", "what"),
    [
        ({}, 3, "ok", "3/3 pods, keystone 2026.1.0, 2026.1"),
        ({}, 1, "broken", "Deployment/keystone-api: 1 of 3 pods ready; 1/3 pods"),
        ({"status": "pending-upgrade"}, 3, "broken", "pending-upgrade; 3/3 pods"),
        ({"chart_version": "2026.1.0+abc"}, 3, "ok", "3/3 pods, keystone 2026.1.0+abc"),  # OpenStack-Helm's
        ({"chart_version": "2025.2.0"}, 3, "warning", "the site's chart is 2026.1.0"),
    ],
)
def test_a_release_has_pods_and_versions(
    plan: Plan, changes: dict[str, Any], ready: int, state: str, what: str
) -> None:
    row = release_row("openstack", WANTED(plan), release(plan, **changes), workload(ready))
    assert row.state == state
    assert what in row.what
    assert (row.facts["ready"], row.facts["of"], row.facts["app_version"]) == (ready, 3, "2026.1")


@pytest.mark.parametrize(
    ("app", "tag", "runs"),
    [
        ("2026.1", "openstack:2026.2", "2026.2"),  # built-in charts keep their number
        ("2026.1", "openstack:site-7", "2026.1"),
        ("11.8.3", "openstack-client:2026.2", "11.8.3"),
    ],
)
def test_what_a_release_runs_is_told_by_its_images(plan: Plan, app: str, tag: str, runs: str) -> None:
    pod = {"spec": {"containers": [{"image": f"registry:5000/groundup/{tag}"}]}}
    (item,) = release(plan).objects
    live = release(plan, app_version=app, objects=({**item, "spec": {"template": pod}},))
    row = release_row("openstack", WANTED(plan), live, workload(3))
    assert row.facts["app_version"] == runs
    assert row.what.endswith(f", {runs}")


def test_a_workload_that_is_gone_is_told(plan: Plan) -> None:
    row = release_row("openstack", WANTED(plan), release(plan), {})
    assert (row.state, row.facts["of"]) == ("broken", 0)
    assert "it is gone" in row.what
    assert release_row("openstack", WANTED(plan), None, {}).state == "not made"
