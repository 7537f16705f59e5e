"""What a control host hands out is not shown; why it hands out nothing is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action.kubeadm_access import ActionModule

ROLE = Path(__file__).resolve().parents[3] / "roles/kubernetes"


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that gives the action's result for what the module says."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(ActionBase, "run", lambda *_, **__: {})

    def of(said: dict[str, Any]) -> dict[str, Any]:
        monkeypatch.setattr(ActionBase, "_execute_module", lambda *_, **__: dict(said))
        action = object.__new__(ActionModule)
        action._task = SimpleNamespace(args={"site": "lab"}, check_mode=False)
        result: dict[str, Any] = action.run()
        return result

    return of


def test_an_invitation_is_not_shown(answer: Any) -> None:
    result = answer({"changed": True, "content": "the kubeconfig", "join": {"token": "secret"}})
    assert result["_ansible_no_log"] is True
    assert "content" not in result


def test_why_there_is_none_is_shown(answer: Any) -> None:
    """Ansible hides all of a task with `no_log`, its failure as well."""
    result = answer({"failed": True, "msg": "control-1 has no admin kubeconfig"})
    assert result["_ansible_no_log"] is False
    tasks = yaml.safe_load((ROLE / "tasks/main.yml").read_text())
    assert [task.get("no_log") for task in tasks if "groundup.cloud.kubeadm_access" in task] == [None]


def test_what_is_no_answer_of_the_module_is_not_shown(answer: Any) -> None:
    assert answer({"failed": True, "msg": "MODULE FAILURE", "module_stdout": "token"})["_ansible_no_log"] is True
