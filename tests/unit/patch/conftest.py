"""A site, and a cluster of two workers, for the tests of patching."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action import patch
from ansible_collections.groundup.cloud.plugins.action.patch import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import ceph_action
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


NOTHING: dict[str, Any] = {
    "debian": "13", "snapshot": "2026-10-01-aaaaaaaa", "offered": "2026-11-28-bbbbbbbb", "changes": [], "removed": [],
    "kept": [], "held": [], "restarts": {}, "reboot": [], "waiting": [], "reboot_waiting": [], "guests": 0,
    "boot": "a:1",
}  # fmt: skip
SAME = {**NOTHING, "offered": NOTHING["snapshot"]}


def change(package: str, step: str = "", *, security: bool = False, before: str = "1") -> dict[str, Any]:
    return {"package": package, "before": before, "after": "2", "security": security, "step": step}


BASH, LIBC, OVN = change("bash"), change("libc6"), change("ovn-common", "ovn")
LIGHTLY = {**SAME, "changes": [BASH, OVN]}
REBOOTS = {**SAME, "changes": [BASH, LIBC, OVN], "reboot": ["libc6"]}
SERVES = {"parts": {"host": {"state": "ok", "why": ""}}}
ILL = {"parts": {"host": {"state": "ok", "why": ""}, "kubernetes": {"state": "broken", "why": "kubelet is down"}}}
UPGRADED = {"changed": True, "changes": ["upgrade bash"], "waiting": [], "reboot_waiting": [], "boot": "a:1"}
Answer = dict[str, Any] | Exception | Callable[[dict[str, Any]], dict[str, Any]]


class Run:
    """A run of the playbook: what hosts said at its start, and what they answer to each step. Notes what is asked."""

    def __init__(self, home: Path) -> None:
        self.site_file = home / "site.yml"
        machines = {"seed": {"count": 1}, "control": {"count": 3}, "storage": {"count": 3}, "worker": {"count": 3}}
        self.site_file.write_text(yaml.safe_dump({**written(**machines), "storage": {"backend": "native"}}))
        self.said: dict[str, dict[str, Any]] = {NAME: REBOOTS}
        self.answers: dict[str, list[Answer]] = {}  # by "module step"; the last one stays
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.shown: list[str] = []

    def execute(
        self, *_: object, module_args: dict[str, Any], module_name: str | None = None, **__: object
    ) -> dict[str, Any]:
        key = f"{(module_name or 'patch').rpartition('.')[2]} {module_args['step']}"
        self.asked.append((key, module_args["given"]))
        answers = self.answers[key]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return dict(answer(module_args["given"]) if callable(answer) else answer)

    def step(self, step: str, name: str = NAME, **options: Any) -> dict[str, Any]:
        """Return the result of a step on the host ``name``."""
        action = object.__new__(ActionModule)
        hostvars = {name: {"patch_host": one} for name, one in self.said.items()} | {"localhost": {}}
        action.variables = {"inventory_hostname": name, "hostvars": hostvars, **hostvars.get(name, {})}
        action.changes = Changes(check=False)
        action._task = SimpleNamespace(check_mode=False, delegate_to="storage-2")
        action._connection = SimpleNamespace(transport="local")
        action._display = SimpleNamespace(display=self.shown.append)
        given = {
            "step": step, "site_file": str(self.site_file), "groups": [], "timeout": 0.05, "result": "patch_host",
            "hosts": [*self.said], "output": "table", "path": None, "apply": True, "failure": {}, "resting": False,
        }  # fmt: skip
        return action.work({**given, **options})

    @property
    def steps(self) -> list[str]:
        """What was asked, in order."""
        return [key for key, _ in self.asked]


@pytest.fixture
def run(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    cluster.boot = "a"
    run = Run(tmp_path)
    run.answers = {"status host": [SERVES], "patch upgrade": [UPGRADED], "patch boot": [{"boot": "a:1"}]}
    monkeypatch.setattr(ActionBase, "_execute_module", run.execute)
    monkeypatch.setattr(patch, "_PAUSE", 0.01)
    monkeypatch.setattr(ceph_action, "open_store", lambda *_, **__: {ceph_action.ADMIN: "key"})
    return run
