"""A site, and a cluster of two workers, for the tests of patching."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import removal
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import maintenance
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch.run import HostRun
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan

PATCH = "PATCH"


def written(**machines: dict[str, Any]) -> dict[str, Any]:
    """Return a site file with machines of these groups."""
    given = {name: {"provisioner": "existing", **one} for name, one in machines.items()}
    networks = {"management": {"cidr": "10.96.0.0/16"}}
    return {
        "plugin": "groundup.cloud.site", "site": "s", "domain": "s.test", "profile": "rack", "networks": networks,
        "machines": given,
    }  # fmt: skip


def site(**machines: dict[str, Any]) -> Plan:
    """Return the plan of that site file."""
    return make_plan(build_site(written(**machines)))


PLAN = site(
    seed={"count": 1}, control={"count": 3}, storage={"count": 3}, hypervisor={"count": 25}, worker={"count": 3},
)  # fmt: skip
NAME, OTHER = (name for name, host in list(PLAN.hosts.items()) if host.group == "worker" and name[-1] in "12")


class Cluster:
    """Nodes and pods; an eviction ends a pod at once, unless a budget is against it."""

    def __init__(self) -> None:
        self.cordoned: dict[str, bool] = {NAME: False, OTHER: False}
        self.pods = {"web": "ReplicaSet", "proxy": "DaemonSet"}
        self.boot, self.ready, self.budget = "aaaa", True, False
        self.said: list[str] = []

    def node(self, name: str) -> dict[str, Any]:
        ready = {"type": "Ready", "status": "True" if self.ready else "False"}
        return {
            "metadata": {"name": name}, "spec": {"unschedulable": self.cordoned[name]},
            "status": {"conditions": [ready], "nodeInfo": {"bootID": self.boot}},
        }  # fmt: skip

    def get(self, path: str, **_: Any) -> dict[str, Any]:
        if path.endswith("/nodes"):
            return {"items": [self.node(name) for name in self.cordoned]}
        if path.endswith("/pods"):
            owners = [(name, [{"kind": kind}] if kind else []) for name, kind in self.pods.items()]
            return {
                "items": [
                    {"metadata": {"name": name, "namespace": "d", "uid": name, "ownerReferences": owner}}
                    for name, owner in owners
                ]
            }
        return self.node(path.rpartition("/")[2]) if "/nodes/" in path else {"items": []}

    def request(self, method: str, path: str, *, body: Any, content_type: str = "") -> None:
        assert method == PATCH or not content_type
        if method == PATCH:
            self.cordoned[path.rpartition("/")[2]] = bool(body["spec"]["unschedulable"])
        elif self.budget:
            raise ApiError("it would violate the disruption budget", where="d/web", status=429)
        else:
            self.pods.pop(path.split("/")[-2])
        self.said.append(method)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cluster:
    cluster = Cluster()
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(HostRun, "api", lambda _: cluster)
    monkeypatch.setattr(maintenance, "PAUSE", 0.01)
    monkeypatch.setattr(removal, "_PAUSE", 0.01)
    return cluster
