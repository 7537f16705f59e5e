"""A task that prints while it runs has its name above what it prints; any other is named while it takes long."""

from __future__ import annotations

import re
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.plugins.callback.default import CallbackModule as Default
from ansible_collections.groundup.cloud.plugins.callback import brief
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import reminder

ROOT = Path(__file__).resolve().parents[3]


_PRINTS = re.compile(r"self\._display\.display|self\.tell\(")


def test_every_task_that_prints_while_it_runs_has_its_name_above() -> None:
    actions = (ROOT / "plugins/action").glob("*.py")
    printing = {f"groundup.cloud.{path.stem}" for path in actions if _PRINTS.search(path.read_text())}
    assert printing == {one.partition(" ")[0] for one in brief._SPEAKING}
    for action, _, step in (one.partition(" ") for one in brief._SPEAKING if " " in one):
        assert step in documented(action)["step"]["choices"]


@pytest.mark.parametrize(
    ("quiet", "printing"),
    [
        (("ansible.builtin.wait_for_connection", ""), ("groundup.cloud.seed", "publish")),
        (("groundup.cloud.machines", "ready"), ("groundup.cloud.machines", "install")),
        (("groundup.cloud.preflight", "examine"), ("groundup.cloud.preflight", "report")),
    ],
)
def test_a_task_that_takes_long_is_named_again_and_again_and_one_that_prints_is_not(
    monkeypatch: pytest.MonkeyPatch, quiet: tuple[str, str], printing: tuple[str, str]
) -> None:
    lines: list[str] = []
    twice = threading.Event()

    def display(line: str) -> None:
        lines.append(line)
        if len(lines) == 2:
            twice.set()

    monkeypatch.setattr(brief, "reminder", partial(reminder, seconds=0.05))
    for inherited in ("v2_playbook_on_task_start", "v2_playbook_on_stats", "_print_task_banner"):
        monkeypatch.setattr(Default, inherited, lambda *_, **__: None)
    callback = brief.CallbackModule()
    callback._display = SimpleNamespace(display=display)

    def task(name: str, action: str, step: str) -> SimpleNamespace:
        return SimpleNamespace(get_name=lambda: name, resolved_action=action, args={"step": step}, _uuid=name, when=[])

    callback.v2_playbook_on_task_start(task("Wait for hosts", *quiet), False)
    assert twice.wait(60)
    callback.v2_playbook_on_task_start(task("Make artifacts", *printing), False)
    assert all(re.fullmatch(r"Wait for hosts: 00:\d\d so far", line) for line in lines)
    number = len(lines)
    time.sleep(0.2)
    callback.v2_playbook_on_stats(None)
    assert len(lines) == number
