"""What was changed by hand in a cluster is told with who did it, by a real API server; what is untouched is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift import beside, dry_runs
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.rows import DriftRow
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.diff import diff_text
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan

from .conftest import Site


def drift(site: Site, release: ReleasePlan) -> list[DriftRow]:
    """Return the rows of the site's releases, as the playbook makes them of the layer's result."""
    outcome = site.rollout(release).check()
    result = {"changed": outcome.changed, "diff": {"prepared": diff_text(outcome.diffs)}}
    event = {"event": "runner_on_ok", "event_data": {"host": "localhost", "task": "Apply", "res": result}}
    kubernetes = SimpleNamespace(cni=SimpleNamespace(releases=()), storage_releases=())
    openstack = SimpleNamespace(releases=(release,), namespace=site.namespace)
    plan: Any = SimpleNamespace(site="test", kubernetes=kubernetes, openstack=openstack)
    return beside.asked(plan, dry_runs.told("openstack", [event], code=0))


def test_hands_in_the_cluster_are_found_and_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "kubeconfig_path", lambda _: site.control_plane.kubeconfig)
    release = site.release("probe")
    site.rollout(release).apply()
    assert drift(site, release) == [], "nothing was touched"

    path = resource_path("apps/v1", "deployments", namespace=site.namespace)
    scaled = {"spec": {"replicas": 7}}
    site.api.request(
        "PATCH", f"{path}/probe-api", query={"fieldManager": "kubectl-edit"}, body=scaled,
        content_type="application/merge-patch+json",
    )  # fmt: skip
    (row,) = drift(site, release)
    assert (row.layer, row.what) == ("openstack", "probe: Deployment/probe-api")
    assert row.by.startswith("kubectl-edit, 20")

    labels = {"app": "cowboy"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "c"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}
    cowboy = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "cowboy"}, "spec": spec}
    site.api.request("POST", path, query={"fieldManager": "k9s"}, body=cowboy)
    site.api.delete(f"{path}/probe-api")
    gone, nobodys = drift(site, release)
    assert (gone.what, gone.by) == ("probe: Deployment/probe-api", "")
    assert nobodys.what == "Deployment/cowboy of no release of the site"
    assert nobodys.by.startswith("k9s, 20")
