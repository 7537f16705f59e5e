"""Key paths of charts' values in files: one leaf a line, by JSON pointer (RFC 6901), so that a difference is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def flat(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaves of ``tree`` by their pointers."""
    return dict(_leaves(tree, ""))


def nested(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree that `flat` was given."""
    tree: dict[str, Any] = {}
    for pointer, leaf in leaves.items():
        *way, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))
        here = tree
        for part in way:
            here = here.setdefault(part, {})
        here[last] = leaf
    return tree


def read(path: Path) -> Any:
    """Return what `write` has written, with its keys as a tree."""
    found = json.loads(path.read_text())
    return {name: nested(value) if name == "keys" else value for name, value in found.items()}


def write(path: Path, fact: Mapping[str, Any]) -> None:
    """Write ``keys``, a tree, and lists, one leaf or entry a line."""
    parts = []
    for name, value in sorted(fact.items()):
        entries = (
            [f"{json.dumps(key)}: {_line(leaf)}" for key, leaf in sorted(flat(value).items())]
            if name == "keys"
            else [_line(one) for one in value]
        )
        brackets = "{}" if name == "keys" else "[]"
        body = "".join(f"\n{entry}," for entry in entries).removesuffix(",")
        parts.append(f"{json.dumps(name)}: {brackets[0]}{body}{brackets[1]}")
    path.write_text("{" + ",\n".join(parts) + "}\n")


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _leaves(tree: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        here = f"{above}/{key.replace('~', '~0').replace('/', '~1')}"
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, here)
        else:
            yield here, value
