"""Rooms of plugin_utils import what docs/architecture.md says, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = ROOT / "plugins"
ANSIBLES = {
    "ActionModule",
    "CallbackModule",
    "FilterModule",
    "LookupModule",
    "ModuleDocFragment",
}  # names that Ansible asks for
ROW = re.compile(r"^\| (?!room)([a-z]+) \| .* \| ([a-z, ]+|-) \|$", re.MULTILINE)


def drawn() -> dict[str, set[str]]:
    """Return room -> rooms it may import."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = page.partition("## The rooms of plugin_utils")[2].partition("\n## ")[0]
    return {room: set() if rooms == "-" else set(rooms.split(", ")) for room, rooms in ROW.findall(section)}


def imported(path: Path) -> Iterator[str]:
    """Yield what a file imports when it runs, as dotted paths below plugins/; annotations alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for branch in [node for node in ast.walk(tree) if isinstance(node, ast.If)]:
        if isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING":
            branch.body = []
    package = path.relative_to(PLUGINS).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            if not node.level and module[:1] == ["ansible_collections"]:
                module = module[4:]
            elif node.level:
                module = [*package[: len(package) + 1 - node.level], *module]
            else:
                continue
            yield from (".".join([*module, name.name]) for name in node.names)


def test_the_rooms_are_those_of_the_page() -> None:
    folders = {path.parent.name for path in (PLUGINS / "plugin_utils").glob("*/__init__.py")}
    files = {path.stem for path in (PLUGINS / "plugin_utils").glob("*.py")}
    assert folders <= set(drawn()) <= folders | files


@pytest.mark.parametrize("room", drawn())
def test_a_room_imports_only_rooms_the_page_names(room: str) -> None:
    home = PLUGINS / "plugin_utils"
    files = [home / f"{room}.py"] if (home / f"{room}.py").is_file() else sorted((home / room).rglob("*.py"))
    names = {name.split(".")[1] for path in files for name in imported(path) if name.startswith("plugin_utils.")}
    assert names & set(drawn()) - {room} <= drawn()[room]


def test_no_room_stands_on_itself() -> None:
    TopologicalSorter(drawn()).prepare()


def test_types_of_the_plan_import_nothing_but_the_base() -> None:
    files = sorted((PLUGINS / "module_utils/_plan").glob("*.py"))
    found = {".".join(name.split(".")[:2]) for path in files for name in imported(path)}
    assert found <= {"module_utils._base", "module_utils._plan"}


def test_what_runs_on_hosts_imports_nothing_of_the_controller() -> None:
    found = [
        f"{path.name}: {name}"
        for folder in ("module_utils", "modules")
        for path in (PLUGINS / folder).rglob("*.py")
        for name in imported(path)
        if name.startswith("plugin_utils")
    ]
    assert found == []


def test_a_name_of_a_class_has_one_meaning() -> None:
    found: dict[str, list[str]] = {}
    for path in PLUGINS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in ANSIBLES:
                found.setdefault(node.name, []).append(path.relative_to(PLUGINS).as_posix())
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
