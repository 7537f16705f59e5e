"""What a control host hands out is not shown; why it hands out nothing is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action.node import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease

from .conftest import certificate, pem
from .test_kubeconfig import kubeconfig

ROLE = Path(__file__).resolve().parents[3] / "roles/kubernetes"


def _step(task: dict[str, Any]) -> str:
    options = task.get("groundup.cloud.node")
    return str(options["step"]) if isinstance(options, dict) else ""


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that gives the action's result for what the module says, and what it shows."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(ActionBase, "run", lambda *_, **__: {})
    monkeypatch.setattr(run_lease, "of_site", lambda _: [])  # there is no cluster to ask

    def of(said: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        shown: list[str] = []
        monkeypatch.setattr(ActionBase, "_execute_module", lambda *_, **__: dict(said))
        action = object.__new__(ActionModule)
        action.changes, action.variables = Changes(check=False), {}
        action._display = SimpleNamespace(error=lambda text, **_: shown.append(text))
        return action.work({"step": "access", "site": "lab", "name": "control-1", "expected_ca": None}), shown

    return of


def test_a_kubeconfig_is_kept_and_neither_returned_nor_shown(answer: Any) -> None:
    result, shown = answer({"changed": True, "content": "the kubeconfig", "join": {"token": "secret"}})
    assert "content" not in result
    assert shown == []


def test_why_there_is_none_is_shown_though_the_task_is_not(answer: Any) -> None:
    """Without `no_log` a run at -vvv shows all that the connection brings; with it, not even a failure."""
    _, shown = answer({"failed": True, "msg": "control-1 has no admin kubeconfig"})
    assert shown == ["control-1: control-1 has no admin kubeconfig"]
    tasks = yaml.safe_load((ROLE / "tasks/main.yml").read_text())
    assert [task.get("no_log") for task in tasks if _step(task) == "access"] == [True]


def test_what_is_no_answer_of_the_module_is_not_shown(answer: Any) -> None:
    _, shown = answer({"failed": True, "msg": "MODULE FAILURE", "module_stdout": "token"})
    assert shown == []


def test_a_kubeconfig_of_another_cluster_than_the_recorded_one_fails(answer: Any) -> None:
    answer({"content": kubeconfig(pem(certificate()))})
    result, shown = answer({"content": kubeconfig(pem(certificate())), "join": {"token": "secret"}})
    assert result["failed"]
    assert "this kubeconfig is of the cluster with the CA" in result["msg"]
    assert "content" not in result
    assert [line.partition(":")[0] for line in shown] == ["control-1"]
