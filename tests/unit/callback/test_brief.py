"""A task that prints while it runs has its name above what it prints."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.groundup.cloud.plugins.callback import brief

ROOT = Path(__file__).resolve().parents[3]


def test_every_task_that_prints_while_it_runs_has_its_name_above() -> None:
    actions = (ROOT / "plugins/action").glob("*.py")
    printing = {f"groundup.cloud.{path.stem}" for path in actions if "self._display.display" in path.read_text()}
    assert printing == set(brief._SPEAKING)
