"""The options of a module are declared once, in its documentation."""

from __future__ import annotations

import importlib
import re

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import DocumentedAction, StepAction, documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

PLUGINS = "ansible_collections.groundup.cloud.plugins"
FILES = sorted((COLLECTION / "plugins/modules").glob("[!_]*.py"))
ROOMS = [path.stem for path in FILES if "run_step(" in path.read_text()]


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_a_module_has_an_action_that_takes_its_options_from_the_documentation(name: str) -> None:
    module, action = (importlib.import_module(f"{PLUGINS}.{kind}.{name}") for kind in ("modules", "action"))
    assert hasattr(module, "main") is (name in ROOMS)
    assert issubclass(action.ActionModule, StepAction if name in ROOMS else DocumentedAction)
    assert documented(name)


def test_options_of_rooms_are_declared_in_their_documentation_alone() -> None:
    spec = re.compile(r'"type": "(str|int|float|bool|list|dict|path)"')
    plugins = COLLECTION / "plugins"
    files = [path for room in ("action", "module_utils", "plugin_utils") for path in (plugins / room).rglob("*.py")]
    files += [plugins / f"modules/{room}.py" for room in ROOMS]
    found = [path.relative_to(plugins).as_posix() for path in files if spec.search(path.read_text())]
    assert found == ["module_utils/_base/module.py"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_the_steps_that_it_documents(room: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, spec, given = importlib.import_module(f"{PLUGINS}.modules.{room}"), documented(room), dict[str, list[str]]()
    monkeypatch.setattr(module, "run_step", lambda steps, *, secret=(): given.update(steps=[*steps], secret=[*secret]))
    module.main()
    assert given["steps"] == spec["step"]["choices"]
    named = [option for _, _, options in getattr(module, "RULES", {}).get("required_if", ()) for option in options]
    assert set(named) | set(given["secret"]) <= set(spec)
