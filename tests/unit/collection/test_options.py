"""What a module accepts and what its documentation says are the same: options, types, defaults, choices."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
SHARED = "ansible_collections.groundup.cloud.plugins.module_utils._host"
MODULES = sorted(path.stem for path in (PLUGINS / "modules").glob("[!_]*.py"))


def constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Return every name that is assigned once, with what it is assigned."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                found[target.id] = node.value
    return found


def value(node: ast.expr, names: dict[str, ast.expr]) -> Any:
    """Evaluate an argument spec: literals, names of literals, and what modules share (`**sources.OPTIONS`)."""
    if isinstance(node, ast.Dict):
        found: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            found.update({value(key, names): value(item, names)} if key else value(item, names))
        return found
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return getattr(importlib.import_module(f"{SHARED}.{node.value.id}"), node.attr)
    if isinstance(node, ast.List | ast.Tuple):
        return [value(item, names) for item in node.elts]
    if isinstance(node, ast.Name):
        return value(names[node.id], names)
    return ast.literal_eval(node)


def accepted(module: str) -> dict[str, dict[str, Any]]:
    """Return the argument spec: the module's, or the action's when the module is but documentation."""
    tree = ast.parse((PLUGINS / "modules" / f"{module}.py").read_text(encoding="utf-8"))
    names = constants(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if getattr(call.func, "id", "") == "run_module":
            return dict(value(call.args[0], names))
    if "documented" in (PLUGINS / "action" / f"{module}.py").read_text(encoding="utf-8").lower():
        return documented(module)
    raise AssertionError(f"{module}: no argument spec was found")


def described(module: str) -> dict[str, dict[str, Any]]:
    """Return the options as documented, those of shared fragments too."""
    tree = ast.parse((PLUGINS / "modules" / f"{module}.py").read_text(encoding="utf-8"))
    documentation = yaml.safe_load(ast.literal_eval(constants(tree)["DOCUMENTATION"]))
    options: dict[str, dict[str, Any]] = documentation.get("options") or {}
    fragments = documentation["extends_documentation_fragment"]
    for name in [fragments] if isinstance(fragments, str) else fragments:
        file, _, part = name.removeprefix("groundup.cloud.").partition(".")
        tree = ast.parse((PLUGINS / "doc_fragments" / f"{file}.py").read_text(encoding="utf-8"))
        fragment = ast.literal_eval(constants(tree)[part.upper() or "DOCUMENTATION"])
        options |= yaml.safe_load(fragment).get("options") or {}
    return options


@pytest.mark.parametrize("module", MODULES)
def test_a_module_accepts_what_its_documentation_says(module: str) -> None:
    spec, documentation = accepted(module), described(module)
    assert set(spec) == set(documentation)
    for option, rules in spec.items():
        told = documentation[option]
        for field in ("type", "elements", "default", "choices"):
            assert rules.get(field) == told.get(field), f"{option}: {field}"
        assert bool(rules.get("required")) == bool(told.get("required")), f"{option}: required"
