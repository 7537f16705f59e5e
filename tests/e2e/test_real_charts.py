"""OpenStack-Helm's own charts, unmodified, with our images, values and rollout: to a token on the running cluster.

They come up in a namespace and behind a node port of their own, beside the releases of the lab, and are removed again;
test_real_cloud.py is about a whole cloud of them.
Skipped with the reason when GROUNDUP_OSH_CHARTS names no directory of packages (docs/charts.md).
"""

from __future__ import annotations

import json
import os
import secrets
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import for_charts, with_images
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import Helm
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.engine import Rollout
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutOptions
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import tool
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import digests
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

pytestmark = pytest.mark.lab
NODE_PORT = 30599  # beside the lab's own 30500


@pytest.fixture(scope="module")
def charts() -> Path:
    """The directory of packaged charts."""
    where = os.environ.get("GROUNDUP_OSH_CHARTS")
    if not where:
        pytest.skip("GROUNDUP_OSH_CHARTS is not set: no OpenStack-Helm charts to install (docs/charts.md)")
    if not list(Path(where).glob("keystone-*.tgz")):
        pytest.skip(f"GROUNDUP_OSH_CHARTS={where} holds no keystone-*.tgz (docs/charts.md)")
    return Path(where)


@pytest.fixture(scope="module")
def real(plan: Plan, state: Path) -> Iterator[Plan]:
    """The site's plan with the same values in a namespace of the test's own, which is deleted afterwards."""
    api = Api(state / "kubeconfig")
    namespace = f"osh-{secrets.token_hex(3)}"
    api.request(
        "POST", "/api/v1/namespaces", body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    )
    endpoints = tuple(
        replace(endpoint, node_port=NODE_PORT) if endpoint.service == "keystone" else endpoint
        for endpoint in plan.edge.endpoints
    )
    cloud = replace(plan.openstack, namespace=namespace)
    record = digests.required(plan.site, seed=plan.supply.seed, dry_run=False)
    beside = with_images(
        replace(plan, openstack=cloud, edge=replace(plan.edge, endpoints=endpoints)),
        record.pin(plan.supply.images, registry=plan.supply.registry),
    )
    # The public names lead to the lab's own Keystone; this one is asked below, at its node port.
    made = tuple(
        replace(release, namespace=namespace, verify="workloads" if release.name == "keystone" else release.verify)
        for release in beside.openstack.releases
    )
    yield replace(beside, openstack=replace(beside.openstack, releases=made))
    api.request("DELETE", f"/api/v1/namespaces/{namespace}")


def token(plan: Plan, password: str) -> Any:
    """Return the body of a token scoped to the administrator's project, issued at the node port."""
    control = plan.hosts[plan.kubernetes.first_control].address
    domain = {"name": "default"}
    user = {"name": "admin", "password": password, "domain": domain}
    body = {
        "auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": "admin", "domain": domain}},
        }
    }
    request = urllib.request.Request(
        f"http://{control}:{NODE_PORT}/v3/auth/tokens",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - always http
        return json.load(answer)["token"]


def test_the_real_charts_come_up_unmodified_and_issue_a_token(real: Plan, charts: Path, state: Path) -> None:
    store = open_store(real.site, write=False)
    processes = Processes()
    lines: list[str] = []
    helm = Helm(binary=tool("helm"), kubeconfig=state / "kubeconfig", charts=str(charts), processes=processes)
    rollout = Rollout(
        plan=for_charts(real, helm.defaults),
        api=Api(state / "kubeconfig"),
        helm=helm,
        processes=processes,
        secrets=store,
        authority=state / "ca.crt",
        say=lines.append,
        options=RolloutOptions(),
    )
    result = rollout.apply()
    assert not result.failed, "\n".join(lines)
    issued = token(real, store.items()["keystone/admin"])
    assert issued["project"]["name"] == "admin"
    urls = {
        (entry["type"], endpoint["interface"]): endpoint["url"]
        for entry in issued["catalog"]
        for endpoint in entry["endpoints"]
    }
    public = next(endpoint for endpoint in real.edge.endpoints if endpoint.service == "keystone")
    assert urls["identity", "public"] == public.url
    assert real.openstack.namespace in urls["identity", "internal"]
