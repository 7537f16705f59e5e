"""The layer begins with the lease of its cluster: a second run is refused before it changes anything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action.cluster import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION


def run(*, check: bool = False) -> dict[str, Any]:
    action = object.__new__(ActionModule)
    action._task = SimpleNamespace(args={"step": "acquire", "site": "lab", "starts": False}, check_mode=check)
    result: dict[str, Any] = action.run()
    return result


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ActionBase, "run", lambda *_, **__: {})
    monkeypatch.setattr(ActionBase, "validate_argument_spec", lambda self, *_, **__: (None, self._task.args))


def test_a_run_that_finds_another_one_fails_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(site: str) -> list[str]:
        raise GroundupError(f"another run on {site} is under way: process 7 on mars", where="w", why="y", remedy="r")

    monkeypatch.setattr(run_lease, "of_site", busy)
    assert run(check=True) == {"changed": False, "warnings": []}
    refused = run()
    assert refused["failed"]
    assert "process 7 on mars" in refused["msg"]


def test_a_cluster_that_does_not_answer_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lease, "of_site", lambda site: [f"{site} does not answer"])
    assert run() == {"changed": False, "warnings": ["lab does not answer"]}


def test_no_play_of_the_layer_comes_before_it() -> None:
    plays = yaml.safe_load((COLLECTION / "playbooks/kubernetes.yml").read_text())
    first = next(play for play in plays if "tasks" in play)
    assert [task.get("groundup.cloud.cluster") for task in first["tasks"]] == [
        {"step": "acquire", "site": "{{ groundup_site.site }}"}
    ]
