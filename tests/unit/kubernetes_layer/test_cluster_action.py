"""Steps of module cluster: options of each, and what a dry run before the first cluster says and does."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action import cluster
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm import ready
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import nodes, objects, run_lease, verify
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.nodes import SeenNodes
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.verify import ClusterReport
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

from .test_kubeconfig import kubeconfig

SITE = "unit"
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openstack"}}
ROLE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "openstack"}}
WORKER = {"name": "worker-1", "roles": ["worker"], "node_labels": {"rack": "r1"}, "node_taints": []}
CONTROL = {**WORKER, "name": "control-1", "roles": ["control"]}
TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
SEEN = SeenNodes(names=frozenset(("control-1", "worker-1")), away={"worker-1": "kubelet stopped"}, leftover={})


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The state directory of a site without a cluster."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(ActionBase, "run", lambda *_, **__: {})
    monkeypatch.setattr(ActionBase, "validate_argument_spec", lambda self, *_, **__: (None, self._task.args))
    return tmp_path / SITE


def keep_kubeconfig(state: Path) -> None:
    """Keep one of a cluster that does not answer."""
    client = issue("admin", ca=True)
    state.mkdir()
    text = kubeconfig(client.pem, server="https://127.0.0.1:1", certificate=client.pem, key=client.key)
    (state / "kubeconfig").write_text(text)


def run(step: str, *, check: bool = True, **given: Any) -> dict[str, Any]:
    defaults = {name: option.get("default") for name, option in documented("cluster").items()}
    action: Any = object.__new__(cluster.ActionModule)
    action._task = SimpleNamespace(args=defaults | {"site": SITE, "step": step} | given, check_mode=check)
    action._display = SimpleNamespace(display=print)
    result: dict[str, Any] = action.run()
    return result


def test_a_dry_run_without_a_cluster_foresees_objects_in_their_order() -> None:
    done = run("apply", objects=[ROLE, SPACE])
    assert (done["changed"], done["objects"]) == (True, ["Namespace openstack", "ConfigMap openstack/c"])
    assert "name: openstack" in done["diff"][0]["after"]


def test_a_dry_run_without_a_cluster_foresees_labels() -> None:
    done = run("label", hosts=[CONTROL, WORKER])
    assert (done["changed"], done["nodes"][1:]) == (True, ["Node/worker-1: label rack"])
    assert done["nodes"][0].startswith("Node/control-1: label node-role.kubernetes.io/control-plane, ")
    assert '"rack": "r1"' in done["diff"][1]["after"]
    assert "aside" not in done


@pytest.mark.parametrize(
    ("meta", "spec", "said"),
    [
        ({"labels": {"rack": "r2"}}, {}, "Node/worker-1: label rack"),
        ({"labels": {"rack": "r1", "old": ""}}, {"taints": [TAINT]}, "Node/worker-1: label old, taints"),
        ({"labels": {"rack": "r1"}, "annotations": {}}, {}, f"Node/worker-1: annotation {nodes.OWNED}"),
        ({"labels": {"rack": "r1", "others": ""}}, {"taints": [{**TAINT, "key": "others"}]}, ""),
    ],
)
def test_a_node_that_differs_is_named_with_what_does(meta: dict[str, Any], spec: dict[str, Any], said: str) -> None:
    owned = json.dumps({"labels": ["rack"] if "old" not in meta["labels"] else ["old", "rack"], "taints": []})
    node = {"metadata": {"name": "worker-1", "annotations": {nodes.OWNED: owned}, **meta}, "spec": spec}
    change = nodes.patch(node, nodes.wanted(WORKER))
    assert (nodes.said("worker-1", change) if change else "") == said


@pytest.mark.parametrize("step", ["apply", "install", "label"])
def test_a_dry_run_does_not_ask_a_cluster_that_the_run_would_start(step: str, state: Path) -> None:
    """Keys and etcd were restored; the control node's kubeconfig is of before, and nobody answers there."""
    keep_kubeconfig(state)
    done = run(step, starts=True, objects=[SPACE], hosts=[CONTROL], charts="c", releases=[], version="1.36.3")
    assert (done["changed"], done["not_known"]) == (True, True)
    assert "is not known before the restored cluster is started" in done["msg"]


def test_a_dry_run_that_meets_a_silent_cluster_otherwise_says_so(state: Path) -> None:
    keep_kubeconfig(state)
    done = run("apply", objects=[SPACE])
    assert done["failed"]
    assert "the Kubernetes API does not answer" in done["msg"]


@pytest.mark.parametrize("step", ["wait", "verify"])
def test_a_dry_run_verifies_nothing(step: str) -> None:
    assert run(step, releases=[], nodes=[])["skipped"]


def test_an_incomplete_object_is_refused_without_its_values() -> None:
    with pytest.raises(GroundupError, match="needs apiVersion, kind and metadata") as refused:
        objects.apply(SITE, [SPACE, {"kind": "Secret", "stringData": {"key": "hush"}}], Changes(check=True))
    assert "hush" not in str(refused.value)


def test_a_worker_that_is_not_ready_is_set_aside_and_the_lease_released(
    monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    state.mkdir()
    (state / "kubeconfig").touch()
    calls: list[Any] = []

    def wait(_api: object, names: list[str], *, spare: set[str], known: list[str], **_: object) -> SeenNodes:
        calls.append((names, spare, known))
        return SEEN

    monkeypatch.setattr(nodes, "Api", lambda *_: "api")
    monkeypatch.setattr(nodes, "converge", lambda *_, spare, **__: calls.append(spare))
    monkeypatch.setattr(nodes, "wait_ready", wait)
    monkeypatch.setattr(run_lease, "release", calls.append)
    done = run("label", check=False, hosts=[CONTROL, WORKER], known=["control-2"])
    assert calls == [{"worker-1"}, (["control-1", "worker-1"], {"worker-1"}, ["control-2"]), "api"]
    assert (done["changed"], [one["host"] for one in done["aside"]]) == (False, ["worker-1"])
    assert "kubelet stopped" in done["warnings"][0]


def test_what_verifies_gets_every_option_and_warns_of_all_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    report = ClusterReport(nodes=1, probe="a -> b", certificate_days=9, warnings=("it expires",))

    def look(_path: Path, **options: Any) -> tuple[ClusterReport, SeenNodes]:
        asked.update(options)
        return report, SEEN

    monkeypatch.setattr(verify, "verify", look)
    done = run("verify", check=False, server="https://x", nodes=["control-1"], image="i", storage_class="general")
    assert (asked["site"], asked["server"], asked["storage_class"], asked["edge"]) == (
        SITE,
        "https://x",
        "general",
        None,
    )
    assert asked["nodes"] == ("control-1",)
    assert done["report"]["probe"] == "a -> b"
    assert [line.split(":")[0] for line in done["warnings"]] == ["it expires", "worker-1"]


def test_a_wait_is_for_the_plans_releases_and_as_long_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    release = {"name": "csi", "chart": "c", "version": "1", "namespace": "n", "needs": [], "verify": "workloads"}
    monkeypatch.setattr(cluster, "Api", lambda path: path.name)
    monkeypatch.setattr(ready, "wait_ready", lambda *found, timeout: asked.extend((*found, timeout)))
    assert run("wait", check=False, releases=[{**release, "values": {}}], timeout=5) == {"changed": False}
    api, (wanted,), timeout = asked
    assert (api, wanted.name, wanted.needs, timeout) == ("kubeconfig", "csi", (), 5)
