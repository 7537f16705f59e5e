"""A control host is only worked on by the run that holds the lease, with the cluster that the controller knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action.node import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import access, run_lease

from .conftest import certificate, pem
from .test_kubeconfig import kubeconfig


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options every call of the module got."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(ActionBase, "run", lambda *_, **__: {})

    def execute(*_: object, module_args: dict[str, Any], **__: object) -> dict[str, Any]:
        calls.append(module_args["given"])
        return {}

    monkeypatch.setattr(ActionBase, "_execute_module", execute)
    return calls


def run(*, role: str = "control", check: bool = False, **options: str) -> dict[str, Any]:
    action = object.__new__(ActionModule)
    action.changes, action.variables = Changes(check=check), {}
    keys = {"encryption_keys": {"site-1": "key"}}
    return action.work({"step": "maintain", "site": "lab", "role": role, "expected_ca": None, **keys, **options})


def test_the_module_is_told_the_recorded_cluster_also_without_a_kubeconfig(given: list[dict[str, Any]]) -> None:
    assert run() == {}
    access.keep("lab", kubeconfig(pem(certificate())))
    access.kubeconfig_path("lab").unlink()
    run()
    run(expected_ca="cc")
    assert [one["expected_ca"] for one in given] == [None, access.known_ca("lab"), "cc"]


def test_only_a_run_that_changes_a_control_host_needs_the_lease(
    given: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_: str) -> list[str]:
        raise GroundupError("another run of the Kubernetes layer is under way", where="w", why="y", remedy="r")

    monkeypatch.setattr(run_lease, "of_site", busy)
    run(role="worker")
    run(check=True)
    assert len(given) == 2
    with pytest.raises(GroundupError, match="another run of the Kubernetes layer is under way"):
        run()
    assert len(given) == 2
    monkeypatch.setattr(run_lease, "of_site", lambda _: ["the cluster does not answer"])
    assert run()["warnings"] == ["the cluster does not answer"]
    assert run(role="worker", step="upgrade_kubelet")["warnings"] == ["the cluster does not answer"]


@pytest.mark.parametrize(
    "step", ["upgrade_wake", "upgrade_stage", "upgrade_control", "upgrade_record", "upgrade_kubelet"]
)
@pytest.mark.parametrize("role", ["control", "worker"])
def test_a_connection_that_is_lost_in_an_upgrade_fails_the_task_for_its_rescue(
    given: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, step: str, role: str
) -> None:
    def lost(*_: object, **__: object) -> None:
        raise AnsibleConnectionFailure("no route to host")

    monkeypatch.setattr(ActionBase, "_execute_module", lost)
    done = run(step=step, role=role)
    assert (done["failed"], "no route to host" in done["msg"]) == (True, True)
    assert not {"unreachable", "aside"} & done.keys()
    assert given == []
