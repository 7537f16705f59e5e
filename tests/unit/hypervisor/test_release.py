"""A hypervisor goes to another OpenStack release by itself, and after the control plane."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import hypervisor as action
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import environment, ownership
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import checks, converge, leave, services
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.cluster import refuse_ahead
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api


class Pods(Api):
    """A cluster in which pods of Nova run."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self.pods = pods

    def get(self, path: str, **query: str) -> dict[str, Any]:
        assert path == "/api/v1/namespaces/openstack/pods"
        assert query == {"labelSelector": "application=nova", "fieldSelector": "status.phase=Running"}
        return {"items": list(self.pods)}


def pod(tag: str, *, owner: str = "ReplicaSet", **more: str) -> dict[str, Any]:
    owners = [{"kind": owner, "name": "nova-x", "controller": True}]
    return {
        "metadata": {"name": "nova-x", "ownerReferences": owners, **more},
        "spec": {"containers": [{"image": f"registry:5000/groundup/openstack:{tag}@sha256:{'0' * 64}"}]},
    }


@pytest.mark.parametrize(
    ("pods", "runs"),
    [
        ([pod("2026.2"), pod("2026.2")], ""),
        ([pod("2026.1")], "2026.1"),
        ([pod("2026.1"), pod("2026.2")], "2026.1"),  # a rollout that was killed
        ([pod("2026.2"), pod("2026.1", owner="Job")], ""),
        ([pod("2026.2"), pod("2026.1", deletionTimestamp="2026-11-29T00:00:00Z")], ""),
        ([pod("site-7")], ""),
    ],
)
def test_a_host_does_not_run_another_release_than_the_control_planes_nova(pods: list[Any], runs: str) -> None:
    def ask() -> None:
        refuse_ahead(Pods(*pods), namespace="openstack", release="2026.2", host="compute-1", steps=True)

    if not runs:
        ask()
        return
    with pytest.raises(GroundupError, match=f"Nova runs {runs}, and the host would run 2026.2") as refused:
        ask()
    assert "groundup.cloud.openstack_upgrade" in refused.value.remedy
    also = sorted(runs.split(", "))
    refuse_ahead(Pods(*pods), namespace="openstack", release="2026.2", host="h", steps=False, also=also)


def test_a_host_leaves_its_release_only_while_a_pod_of_nova_says_which_one_runs() -> None:
    def ask(*, steps: bool) -> None:
        gone = pod("2026.2", deletionTimestamp="2026-11-29T00:00:00Z")
        refuse_ahead(Pods(gone), namespace="openstack", release="2026.2", host="compute-1", steps=steps)

    ask(steps=False)  # a host that keeps its release is not held up by a control plane that is down
    with pytest.raises(GroundupError, match="no pod of the control plane's Nova runs"):
        ask(steps=True)


@pytest.mark.parametrize("step", [False, True])
def test_the_action_asks_the_cluster_before_the_host_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, step: bool
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()
    monkeypatch.setattr(action, "kubeconfig_path", lambda _site: kubeconfig)
    monkeypatch.setattr(action, "Api", lambda _path: Pods(pod("2026.1")))
    asks = action.ActionModule.__new__(action.ActionModule)
    asks.changes = Changes(check=False)
    monkeypatch.setattr(action, "underlay", lambda _variables: {})
    monkeypatch.setattr(action, "peers", lambda *_, **__: {})
    monkeypatch.setattr(action, "addresses", lambda _variables: {})
    monkeypatch.setattr(action, "volume_key", lambda _site: {})
    monkeypatch.setattr(action, "disks", lambda *_: {})
    monkeypatch.setattr(asks, "_environments", lambda *_: {})
    site = {"site": "unit", "openstack": {"namespace": "openstack", "release": "2026.2", "upgrading": []}}
    asks.variables = {"groundup_site": site, "groundup_host": {"name": "compute-1"}, "hostvars": {}}
    monkeypatch.setattr(action, "chassis", lambda *_: type("Named", (), {"options": dict})())
    ran: list[bool] = []
    given: dict[str, Any] = {"step": "converge", "release_step": step, "ssh_key": ""}

    def work() -> dict[str, Any]:
        ran.append(True)
        return {}

    told = asks._told(given, work)
    assert told["failed"]
    assert "Nova runs 2026.1" in told["msg"]
    assert not ran


@pytest.mark.parametrize("retired", [False, True])
def test_a_retired_host_that_returns_after_the_step_is_not_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, retired: bool
) -> None:
    """It has the environment that it had when it left."""

    def goes_on(*_: object, **__: object) -> None:
        raise GroundupError("went on", where="", why="", remedy="")

    monkeypatch.setattr(ownership, "refuse_other", lambda _site: None)
    monkeypatch.setattr(environment, "current", lambda *_: "2026.1-aaaaaaaaaaaa")
    monkeypatch.setattr(checks, "refuse", goes_on)
    monkeypatch.setattr(leave, "RETIRED", tmp_path / "retired")
    if retired:
        leave.RETIRED.touch()
    wanted = {"site": "unit", "name": "compute-1", "release": "2026.2", "release_step": False, "upgrading": []}
    with pytest.raises(GroundupError, match="went on" if retired else "would go to release 2026.2"):
        converge.converge(Changes(check=False), wanted | {"compute": {}, "hardware": "own"})


@pytest.mark.parametrize(("step", "chosen"), [(False, "2026.1-aaaaaaaaaaaa"), (True, "2026.2-bbbbbbbbbbbb")])
def test_while_a_step_is_open_a_host_keeps_its_environment_until_its_batch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, step: bool, chosen: str
) -> None:
    """Everything else on it converges, and it is neither refused nor set aside."""
    seen: list[str] = []
    placed = converge._environment

    def choose(changes: Changes, wanted: dict[str, Any], kept: str) -> tuple[str, bool]:
        seen.append(placed(changes, wanted, kept)[0])
        raise GroundupError("the end of what is looked at", where="", why="", remedy="")

    class Anything:
        """A room of the host in which all is well."""

        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: ("", "")

    rooms = ("ownership", "checks", "disks", "processor", "openvswitch", "packages", "services", "nova_ssh", "leave")
    for room in rooms:
        monkeypatch.setattr(converge, room, Anything())
    monkeypatch.setattr(converge, "leave", type("Leave", (), {"RETIRED": tmp_path / "r", "joins_again": print}))
    monkeypatch.setattr(environment, "current", lambda *_: "2026.1-aaaaaaaaaaaa")
    monkeypatch.setattr(environment, "place", lambda *_, release, **__: (f"{release}-bbbbbbbbbbbb", False))
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"VERSION_ID": "13"})
    monkeypatch.setattr(converge, "_environment", choose)
    names = ("compute", "hardware", "packages", "compute_id", "ssh_key", "files_url", "files_ca", "disks")
    wanted: dict[str, Any] = dict.fromkeys(names, "") | {
        "site": "unit", "name": "compute-1", "release": "2026.2", "release_step": step, "upgrading": ["2026.1"],
        "configuration": {"nova": {"host": ""}}, "chassis": {"system_id": ""}, "peers": {},
        "environments": {"13": {"path": "p"}}, "sriov": [],
    }  # fmt: skip
    with pytest.raises(GroundupError, match="the end of what is looked at"):
        converge.converge(Changes(check=False), wanted)
    assert seen == [chosen]
    assert not environment.of_another_release("2026.1-aaaaaaaaaaaa", "2026.2", ["2026.1"])


def test_a_host_says_how_its_services_are_and_what_each_wrote_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what systemd says of the unit's next start."""

    def said(argv: list[str]) -> SimpleNamespace:
        wrote = {
            "_SYSTEMD_UNIT=neutron-ovn-agent.service": "no way to rabbit://nova:q9v@10.0.0.1:5671/nova\n",
            "_SYSTEMD_UNIT=nova-compute.service": f"{'x' * 400}ModuleNotFoundError: No module named 'nova'\n",
        }
        return SimpleNamespace(stdout=wrote.get(argv[1], ""))

    states = {services.COMPUTE: ("activating", "auto-restart"), services.OVN_AGENT: ("active", "running")}
    monkeypatch.setattr(services, "attempt", said)
    monkeypatch.setattr(services, "properties", lambda unit, *names: dict(zip(names, states[unit], strict=True)))
    found = services.look()
    assert found["neutron-ovn-agent"] == "active (running): no way to rabbit://...@10.0.0.1:5671/nova"
    assert found["nova-compute"].startswith("activating (auto-restart): xxx")
    assert found["nova-compute"].endswith("xModuleNotFoundError: No module named 'nova'")
    assert len(found["nova-compute"]) < 350
