"""What the kubernetes layer does from the controller, against a real API server: objects, nodes, questions."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.hosts import of_nodes
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import verify
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.nodes import (
    SeenNodes,
    WantedNode,
    converge,
    wait_ready,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.objects import Applier
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path

from .conftest import Site
from .puppet import NODE


def test_objects_are_predicted_applied_once_and_told_when_they_differ(site: Site) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": site.namespace},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
    }  # fmt: skip
    config = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": site.namespace},
        "data": {"k": "v"},
    }  # fmt: skip
    applier = Applier(site.api)
    for item in (role, config):
        for check, differs in ((True, True), (False, True), (False, False), (True, False)):
            changes = Changes(check=check)
            applier.apply(item, changes)
            assert bool(changes.done) == differs
    changes = Changes(check=False)
    applier.apply({**config, "data": {"k": "w"}}, changes)
    (diff,) = changes.diffs
    assert ("k: v" in diff["before"], "k: w" in diff["after"]) == (True, True)


def test_an_object_the_api_server_refuses_is_named(site: Site) -> None:
    bad = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not_A_Name", "namespace": site.namespace}}
    with pytest.raises(ApiError, match="Invalid value") as caught:
        Applier(site.api).apply(bad, Changes(check=False))
    assert caught.value.where == f"ConfigMap {site.namespace}/Not_A_Name"


def test_a_node_is_labelled_and_waited_for(site: Site) -> None:
    want, said = WantedNode(name=NODE, labels={"rack": site.namespace}, taints=()), f"Node/{NODE}: label rack"
    for check, differs in ((True, [said]), (False, [said]), (False, [])):
        changes = Changes(check=check)
        converge(site.api, [want], changes, timeout=60)
        assert changes.done == differs
    wait_ready(site.api, [NODE], timeout=60)
    site.puppet.node(ready=False)
    with pytest.raises(GroundupError, match=f"{NODE}: .*; worker-2: it is not registered"):
        wait_ready(site.api, [NODE, "worker-2"], timeout=0.1)


def test_a_node_that_may_be_away_is_told_and_so_is_one_nobody_knows(site: Site) -> None:
    site.puppet.node(ready=False)
    seen = wait_ready(site.api, [NODE, "worker-2"], timeout=0.1, spare=[NODE, "worker-2"])
    assert NODE in seen.names
    assert "worker-2" not in seen.names
    assert seen.away.keys() == {NODE, "worker-2"}
    assert seen.away["worker-2"] == "it is not registered"
    assert wait_ready(site.api, [], timeout=0.1, known=[NODE]).leftover == {}
    assert wait_ready(site.api, [], timeout=0.1).leftover == {NODE: False}
    site.puppet.node(ready=True)
    changes = Changes(check=False)
    wants = [WantedNode(name=name, labels={"rack": "r1"}, taints=()) for name in (NODE, "worker-2")]
    converge(site.api, wants, changes, timeout=0.1, spare=["worker-2"])
    assert changes.done == [f"Node/{NODE}: label rack"]
    said = of_nodes(SeenNodes(names=frozenset(), away={"worker-2": "gone"}, leftover={"worker-9": True}))
    assert [row["host"] for row in (*said["aside"], *said["leftover"])] == ["worker-2", "worker-9"]
    assert "groundup.cloud.remove -e machine=worker-9" in said["warnings"][1]


def test_the_api_server_is_asked_whether_it_is_ready_and_for_its_certificate(site: Site) -> None:
    api = Api(site.control_plane.kubeconfig)
    verify._ready(api, timeout=60)
    assert verify._certificate(api) > 30
    api.server = "https://127.0.0.1:1"
    with pytest.raises(GroundupError, match="the API is not ready: the Kubernetes API does not answer"):
        verify._ready(api, timeout=0.1)


def test_a_node_without_rules_for_policies_is_named(site: Site) -> None:
    with pytest.raises(GroundupError, match=f"not enforced on {NODE}"):  # somebody deleted it
        verify._walls(site.api, [NODE], timeout=0.1)
    labels, place = {"app": "kube-router"}, resource_path("v1", "namespaces", name="kube-flannel")
    template: dict[str, Any] = {
        "metadata": {"labels": labels},
        "spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "none"}]},
    }
    head = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-router"}}
    body = head | {"spec": {"selector": {"matchLabels": labels}, "template": template}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-flannel"}}
    site.api.request("POST", place.rpartition("/")[0], body=namespace)
    daemons = resource_path("apps/v1", "daemonsets", namespace="kube-flannel")
    site.api.request("POST", daemons, body=body)
    pod = resource_path("v1", "pods", namespace="kube-flannel", name="router-1")
    spec = {"nodeName": NODE, "containers": template["spec"]["containers"]}
    meta = {"name": "router-1", "labels": labels}
    try:
        site.api.request(
            "POST", pod.rpartition("/")[0], body={"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        )
        with pytest.raises(GroundupError, match=f"not enforced on {NODE}, worker-2"):
            verify._walls(site.api, [NODE, "worker-2"], timeout=0.1)
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        site.api.request("PATCH", f"{pod}/status", body={"status": status}, content_type="application/merge-patch+json")
        verify._walls(site.api, [NODE], timeout=0.1)
    finally:
        site.api.delete(pod, body={"gracePeriodSeconds": 0})
        site.api.delete(f"{daemons}/kube-router")
        site.api.delete(place)
