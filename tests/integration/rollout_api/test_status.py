"""Rows of the state of a site, by a real API server: nodes, and a release before, after and with a fault."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.cluster import node_rows, nodes_of, release_rows

from .conftest import Site
from .puppet import NODE


def test_a_release_is_not_made_well_and_broken(site: Site) -> None:
    release = site.release("probe")
    made = SimpleNamespace(cni=SimpleNamespace(releases=()), storage_releases=())
    plan: Any = SimpleNamespace(kubernetes=made, openstack=SimpleNamespace(releases=(release,)))
    (row,) = release_rows(plan, site.api)
    assert (row.name, row.state, row.remedy) == ("probe", "not made", "run the playbook groundup.cloud.openstack")
    site.rollout(release).apply()
    (row,) = release_rows(plan, site.api)
    assert row.state == "ok", row
    assert row.facts["ready"] == row.facts["of"] > 0
    assert (row.facts["chart"], row.facts["chart_version"], row.facts["revision"]) == ("probe", release.version, 1)
    site.api.delete(resource_path("apps/v1", "deployments", namespace=site.namespace, name="probe-api"))
    (row,) = release_rows(plan, site.api)
    assert row.state == "broken"
    assert "Deployment/probe-api: it is gone" in row.what


def test_a_node_that_the_site_file_lacks_is_told(site: Site) -> None:
    plan: Any = SimpleNamespace(hosts={})
    rows = {row.name: row for row in node_rows(plan, nodes_of(site.api))}
    assert rows[NODE].state == "warning"
    assert f"machine={NODE}" in rows[NODE].remedy
