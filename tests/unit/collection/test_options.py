"""What a module accepts and what its documentation says are the same: options, types, defaults, choices."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import StepAction, documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

PLUGINS = "ansible_collections.groundup.cloud.plugins"
FILES = sorted((COLLECTION / "plugins/modules").glob("[!_]*.py"))
ROOMS = [path.stem for path in FILES if "run_step(" in path.read_text()]  # the documentation is their argument spec
MODULES = [path.stem for path in FILES if path.stem not in ROOMS]


def accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Return the argument spec: the module's, or the action's when the module is but documentation."""
    module, given = importlib.import_module(f"{PLUGINS}.modules.{name}"), dict[str, dict[str, Any]]()
    if not hasattr(module, "main"):
        assert (
            "documented" in Path(importlib.import_module(f"{PLUGINS}.action.{name}").__file__ or "").read_text().lower()
        )
        return documented(name)
    monkeypatch.setattr(module, "run_module", lambda options, *_, **__: given.update(options))
    module.main()
    return given


def described(name: str) -> dict[str, dict[str, Any]]:
    """Return the options as documented, those of shared fragments too."""
    documentation = yaml.safe_load(importlib.import_module(f"{PLUGINS}.modules.{name}").DOCUMENTATION)
    options: dict[str, dict[str, Any]] = documentation.get("options") or {}
    fragments = documentation["extends_documentation_fragment"]
    for fragment in [fragments] if isinstance(fragments, str) else fragments:
        file, _, part = fragment.removeprefix("groundup.cloud.").partition(".")
        found = importlib.import_module(f"{PLUGINS}.doc_fragments.{file}").ModuleDocFragment
        options |= yaml.safe_load(getattr(found, part.upper() or "DOCUMENTATION")).get("options") or {}
    return options


@pytest.mark.parametrize("module", MODULES)
def test_a_module_accepts_what_its_documentation_says(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, documentation = accepted(module, monkeypatch), described(module)
    assert set(spec) == set(documentation)
    for option, rules in spec.items():
        told = documentation[option]
        for field in ("type", "elements", "default", "choices"):
            assert rules.get(field) == told.get(field), f"{option}: {field}"
        assert bool(rules.get("required")) == bool(told.get("required")), f"{option}: required"


def test_options_of_rooms_are_declared_in_their_documentation_alone() -> None:
    spec = re.compile(r'"type": "(str|int|float|bool|list|dict|path)"')
    plugins = COLLECTION / "plugins"
    files = [path for room in ("action", "module_utils", "plugin_utils") for path in (plugins / room).rglob("*.py")]
    files += [plugins / f"modules/{room}.py" for room in ROOMS]
    found = [path.relative_to(plugins).as_posix() for path in files if spec.search(path.read_text())]
    assert found == ["module_utils/_base/module.py"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_the_steps_that_it_documents_and_the_action_that_validates_them(
    room: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, spec, given = importlib.import_module(f"{PLUGINS}.modules.{room}"), documented(room), dict[str, list[str]]()
    monkeypatch.setattr(module, "run_step", lambda steps, *, secret=(): given.update(steps=[*steps], secret=[*secret]))
    module.main()
    assert given["steps"] == spec["step"]["choices"]
    named = [option for _, _, options in getattr(module, "RULES", {}).get("required_if", ()) for option in options]
    assert set(named) | set(given["secret"]) <= set(spec)
    routed = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["plugin_routing"]["modules"]
    if (COLLECTION / f"plugins/action/{room}.py").is_file():
        assert issubclass(importlib.import_module(f"{PLUGINS}.action.{room}").ActionModule, StepAction)
    else:
        assert routed[room] == {"action_plugin": "groundup.cloud.step"}
