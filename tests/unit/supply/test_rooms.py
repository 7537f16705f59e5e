"""The rooms of supply: each imports only rooms below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply

HOME = Path(supply.__file__).parent
ROOMS = ("lock", "cache", "make", "builders", "publish", "advisories")  # the lowest first


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    above = set(ROOMS[ROOMS.index(room) + 1 :])
    for path in (HOME / room).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 2:
                assert (node.module or "").split(".")[0] not in above, f"{path.relative_to(HOME)}: {node.module}"


def test_every_room_is_in_the_order() -> None:
    assert {path.parent.name for path in HOME.glob("*/__init__.py")} == set(ROOMS)
