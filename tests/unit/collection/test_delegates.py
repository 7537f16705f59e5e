"""What a play of the control node delegates goes by ssh: without a word it would run on the control node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = sorted((Path(__file__).resolve().parents[3] / "playbooks").glob("*.yml"))


def tasks(part: Any) -> Iterator[dict[str, Any]]:
    for one in part if isinstance(part, list) else []:
        yield one
        for name in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks"):
            yield from tasks(one.get(name))


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_a_task_that_leaves_the_control_node_says_how(playbook: Path) -> None:
    plays = yaml.safe_load(playbook.read_text())
    local = [play for play in plays if play.get("connection") == "local"]
    lost = [
        task["name"]
        for task in tasks(local)
        if task.get("delegate_to", "localhost") != "localhost" and "connection" not in task
    ]
    assert lost == []
