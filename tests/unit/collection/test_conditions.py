"""Conditions of tasks are boolean: Ansible ends a run at any other value, such as None of what a site has not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment, nodes

ROOT = Path(__file__).resolve().parents[3]
FILES = [*sorted((ROOT / "playbooks").glob("*.yml")), *sorted((ROOT / "roles").rglob("*.yml"))]
# What is compared with nothing, by its last name: all of these are booleans, wherever they are named.
BOOLEANS = frozenset((
    "add_ons", "back", "control", "data", "due", "evacuated", "exists", "fence", "fresh", "groundup_dry_run",
    "hypervisor", "hypervisors", "instances", "kubernetes_control", "kubernetes_joins", "leader",
    "openstack_upgrade_due", "openstack_upgrade_new", "orchestrated", "reboot", "retire_planned", "storage",
    "storage_waiting", "upgrade_due", "upgrade_new", "whole",
))  # fmt: skip


class AnyName(dict[str, Any]):
    """Filters and tests of Ansible: a condition is read here, not evaluated."""

    def __missing__(self, name: str) -> Any:
        return lambda *_: True


READER = Environment(autoescape=True)
READER.filters, READER.tests = AnyName(), AnyName()


def conditions(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for one in part:
            yield from conditions(one)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name in ("when", "failed_when", "changed_when"):
                yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
            else:
                yield from conditions(value)


def bare(part: nodes.Node) -> Iterator[str]:
    """Yield the last name of each value that ``part`` may have and that is compared with nothing."""
    match part:
        case nodes.And() | nodes.Or():
            yield from (name for side in (part.left, part.right) for name in bare(side))
        case nodes.Not() | nodes.Compare() | nodes.Test() | nodes.Const(value=True | False):
            pass
        case nodes.Filter(name="bool"):
            pass
        case nodes.Filter(name="default", node=nodes.Node() as first):
            yield from (name for side in (first, part.args[0]) for name in bare(side))
        case nodes.Getattr():
            yield part.attr
        case nodes.Name():
            yield part.name
        case _:
            yield f"({type(part).__name__})"


def read(condition: str) -> nodes.Node:
    output = READER.parse(f"{{{{ ({condition}) }}}}").body[0]
    assert isinstance(output, nodes.Output)
    return output.nodes[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_conditions_of_a_file_are_boolean(path: Path) -> None:
    found = {
        one: {*bare(read(one))} - BOOLEANS for text in yaml.safe_load_all(path.read_text()) for one in conditions(text)
    }
    assert {one: names for one, names in found.items() if names} == {}


def test_no_name_is_trusted_that_no_condition_has() -> None:
    documents = (document for path in FILES for document in yaml.safe_load_all(path.read_text()))
    assert {name for document in documents for one in conditions(document) for name in bare(read(one))} == BOOLEANS


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("not groundup_dry_run and groundup_site.monitoring", {"monitoring"}),
        ("groundup_site.monitoring is not none", set()),
        ("found.rows | length", {"(Filter)"}),
        ("found.rows | default([])", {"rows", "(List)"}),
        ("found.rows | length > 0 or given | default(false) | bool", set()),
    ],
)
def test_what_is_no_condition_is_seen(condition: str, names: set[str]) -> None:
    assert {*bare(read(condition))} == names
