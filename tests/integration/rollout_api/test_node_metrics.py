"""A kubelet's certificate reads its own Node of a real API server, and no other."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import node
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

from .control_plane import ControlPlane

NODES = "/api/v1/nodes"


def test_a_node_reads_itself_alone(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, name, other = Api(control_plane.kubeconfig), *(f"node-{secrets.token_hex(4)}.lab" for _ in "12")
    for one in (name, other):
        api.request("POST", NODES, body={"apiVersion": "v1", "kind": "Node", "metadata": {"name": one}})
    kubelet = issue(f"system:node:{name}", control_plane.authority, client=True, organization="system:nodes")
    cluster = yaml.safe_load(control_plane.kubeconfig.read_text())["clusters"][0]["cluster"]
    for place, text in (("ACCESS", yaml.safe_dump(cluster)), ("IDENTITY", kubelet.pem + kubelet.key)):
        (tmp_path / place).write_text(text)
        monkeypatch.setattr(node, place, tmp_path / place)
    told = {sample.name: sample.value for sample in node.health()}
    assert told["groundup_node_known"] == 1
    assert told["kube_node_spec_unschedulable"] == 0
    assert "kube_node_status_condition" not in told, "its kubelet has not told any"

    ready = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "container runtime is down"}
    patch = {"status": {"conditions": [ready]}, "spec": {"unschedulable": True}}
    for path in (f"{NODES}/{name}", f"{NODES}/{name}/status"):
        api.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
    found = [(sample.name, sample.value, dict(sample.labels)) for sample in node.health()]
    assert ("kube_node_status_condition", 0, {"condition": "Ready", "status": "true"}) in found
    assert ("kube_node_spec_unschedulable", 1, {}) in found

    monkeypatch.setattr(node, "node_name", lambda _: other)
    with pytest.raises(ConnectionError, match="403"):
        node.read()
    for one in (name, other):
        api.delete(f"{NODES}/{one}")
