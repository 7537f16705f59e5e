"""What was changed by hand on a cloud that runs is found and named; an untouched one has nothing; nothing is written.

Needs inventories/cloud/site.yml.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import NODES, play
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, root

pytestmark = pytest.mark.lab
WORKER, HYPERVISOR, HAND = "worker-1", "hypervisor-1", "drift-by-hand"
DEPLOYMENTS = resource_path("apps/v1", "deployments", namespace="openstack")
CONFIG = resource_path("v1", "configmaps", namespace="openstack", name="keystone-bin")
POLICY = resource_path("networking.k8s.io/v1", "networkpolicies", namespace="openstack", name="default-deny")
WRITTEN = "find /etc /usr /opt /root /home -xdev -type f -newer /run/groundup-drift-mark"
PODS = {"metadata": {"labels": {"app": HAND}}, "spec": {"containers": [{"name": HAND, "image": HAND}]}}
COWBOY = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": HAND},
    "spec": {"replicas": 0, "selector": {"matchLabels": {"app": HAND}}, "template": PODS},
}  # fmt: skip


@pytest.fixture(scope="module")
def api(plan: Plan) -> Api:
    return Api(kubeconfig_path(plan.site))


def edit(api: Api, path: str, body: dict[str, Any], *, method: str = "PATCH") -> None:
    """Change an object as a person does."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    api.request(method, path, query={"fieldManager": HAND}, body=body, content_type=kind)


@pytest.fixture
def drift(plan: Plan, connect: Connect, tmp_path: Path) -> Callable[[int], list[dict[str, Any]]]:
    """Return a function that runs the playbook to its exit code and gives its rows; no host has a new file then."""

    def run(code: int) -> list[dict[str, Any]]:
        for name in plan.hosts:
            root(connect(name), "touch /run/groundup-drift-mark")
        began = time.monotonic()
        play("drift", code=code, drift_file=str(tmp_path / "drift.json"))
        print(f"drift: {time.monotonic() - began:.0f} s", flush=True)
        written = {name: root(connect(name), WRITTEN).split() for name in plan.hosts}
        assert not any(written.values()), written
        found: dict[str, Any] = json.loads((tmp_path / "drift.json").read_text())
        return list(found["rows"])

    return run


@pytest.fixture
def changed(plan: Plan, api: Api, connect: Connect) -> Iterator[None]:
    """Change things by hand; put them back by the layers that have them."""
    name = next(iter(plan.host.names))
    root(connect(WORKER), "sed -i '$d' /etc/sysctl.d/90-groundup.conf")
    root(connect(HYPERVISOR), f"sed '/{name}/d' /etc/hosts > /run/hosts; cat /run/hosts > /etc/hosts")
    edit(api, f"{DEPLOYMENTS}/keystone-api", {"spec": {"replicas": 2}})
    edit(api, CONFIG, {"data": {next(iter(api.get(CONFIG)["data"])): "# by hand\n"}})
    api.delete(POLICY)
    edit(api, DEPLOYMENTS, COWBOY, method="POST")
    edit(api, f"{NODES}/{WORKER}", {"spec": {"unschedulable": True}})
    try:
        yield
    finally:
        edit(api, f"{NODES}/{WORKER}", {"spec": {"unschedulable": None}})
        api.delete(f"{DEPLOYMENTS}/{HAND}")
        play("host")
        play("openstack")


def test_an_untouched_cloud_has_no_difference(drift: Callable[[int], list[dict[str, Any]]]) -> None:
    assert drift(0) == []


@pytest.mark.usefixtures("changed")
def test_each_hand_is_found_once_and_named(drift: Callable[[int], list[dict[str, Any]]]) -> None:
    found = {(row["layer"], row["host"], row["what"]): row["by"] for row in drift(2)}

    def by(layer: str, host: str, what: str) -> str:
        (told,) = (one for (*place, said), one in found.items() if place == [layer, host] and what in said)
        return str(told)

    assert by("host", WORKER, "90-groundup.conf") == by("host", HYPERVISOR, "/etc/hosts") == ""
    assert by("kubernetes", WORKER, "cordoned") == ""
    assert by("openstack", "localhost", "Deployment/keystone-api").startswith(f"{HAND}, ")
    assert by("openstack", "localhost", "ConfigMap/keystone-bin").startswith(f"{HAND}, ")
    assert by("openstack", "localhost", "default-deny") == ""
    assert by("openstack", "localhost", f"Deployment/{HAND}").startswith(f"{HAND}, ")
    assert len(found) == 7, found


def test_what_the_layers_put_back_differs_no_more(drift: Callable[[int], list[dict[str, Any]]]) -> None:
    assert drift(0) == []
