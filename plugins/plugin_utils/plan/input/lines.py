"""Line numbers of key paths in a site file, looked up for errors only."""

from __future__ import annotations

from collections.abc import Iterable

import yaml


def lines_of(content: bytes, keys: Iterable[str]) -> dict[str, int]:
    """Return the line of each of ``keys`` in ``content``, YAML text that parses.

    A key path that is not there has the line of its nearest owner, and none when it has no owner either.
    """
    root = yaml.compose(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    found = {key: _line(root, key) for key in keys}
    return {key: line for key, line in found.items() if line is not None}


def _line(node: yaml.Node | None, path: str) -> int | None:
    """Follow ``path`` below ``node`` as far as it goes. Keys may hold dots: the longest that fits is taken."""
    if isinstance(node, yaml.MappingNode):
        fitting = [(key, value) for key, value in node.value if f"{path}.".startswith(f"{key.value}.")]
        if fitting:
            key, value = max(fitting, key=lambda pair: len(pair[0].value))
            return _line(value, path[len(key.value) + 1 :]) or int(key.start_mark.line) + 1
    elif isinstance(node, yaml.SequenceNode):
        index, _, rest = path.partition(".")
        if index.isdigit() and int(index) < len(node.value):
            item = node.value[int(index)]
            return _line(item, rest) or int(item.start_mark.line) + 1
    return None
