"""The policy among a release's objects, with what a site wrote there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import of_kind

LAB = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"
SERVICE = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "more"},
    "spec": {"type": "NodePort", "selector": {}, "ports": [{"port": 80, "targetPort": 8080, "nodePort": 30080}]},
}  # fmt: skip


def objects(written: Any) -> Any:
    """Return Keystone's further objects in a site that wrote ``written`` as them."""
    site = yaml.safe_load(LAB.read_text())
    site["openstack"]["overrides"] = {"keystone": {"values": {"extraObjects": written}}}
    release = next(one for one in with_values(make_plan(build_site(site))).openstack.releases if one.name == "keystone")
    return release.values["extraObjects"]


@pytest.mark.parametrize("written", [{"more": SERVICE}, [SERVICE]])
def test_a_node_port_of_the_sites_own_is_admitted(written: Any) -> None:
    found = objects(written)
    (policy,) = (
        item for item in (found.values() if isinstance(found, dict) else found) if item["kind"] == "NetworkPolicy"
    )
    assert policy["spec"]["ingress"][-1] == {
        "ports": [{"protocol": "TCP", "port": 5000}, {"protocol": "TCP", "port": 8080}]
    }


def test_a_site_changes_the_policy_of_a_release() -> None:
    found = objects({"network_policy": {"spec": {"ingress": []}}})
    assert found["network_policy"]["spec"]["ingress"] == []
    assert found["network_policy"]["spec"]["policyTypes"] == ["Ingress"]


def test_pods_of_another_namespace_are_admitted_at_published_ports_alone() -> None:
    """Releases of the site's own have namespaces of their own, whatever labels their pods have."""
    site = yaml.safe_load(LAB.read_text())
    site["openstack"]["services"] = [record.name for record in of_kind("service")]
    chart = str(LAB.parents[2] / "tests/integration/rollout_api/charts/probe")
    site["openstack"]["extra_releases"] = {"own": {"chart": chart, "version": "2026.1.0", "needs": ["keystone"]}}
    for release in with_values(make_plan(build_site(site))).openstack.releases:
        for policy in [] if release.is_extra else (release.values.get("extraObjects") or {}).values():
            for rule in policy["spec"]["ingress"] if policy["kind"] == "NetworkPolicy" else ():
                assert all(set(peer) == {"podSelector"} for peer in rule.get("from", ())), release.name
                named = {ref["podSelector"]["matchLabels"]["application"] for ref in rule.get("from", ())}
                assert "own" not in named, release.name
