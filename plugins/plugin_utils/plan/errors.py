"""The only exception that a site file can cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of a site file: where it is, why it is a fault, and what to write instead."""

    key: str  # key path, "networks.storage.cidr"; "line 4, column 2" of broken YAML; "" for the whole file
    reason: str
    remedy: str
    line: int | None = None  # in the file; None: unknown

    def __str__(self) -> str:
        where = ", ".join(filter(None, (f"line {self.line}" if self.line else "", self.key)))
        return f"{where}: {self.reason}. Remedy: {self.remedy}" if where else f"{self.reason}. Remedy: {self.remedy}"


class SiteError(ValueError):
    """No plan can be made from a site file. Holds every problem found, not only the first.

    Attributes:
        file: path of the site file, or ``<site>`` for a model made in memory.
        problems: at least one.
    """

    def __init__(self, *problems: Problem, file: str, content: bytes = b"") -> None:
        """Keep the problems. With ``content``, the file's text, each gets the line of its key path."""
        lines = lines_of(content, [problem.key for problem in problems]) if content else {}
        self.file = file
        self.problems = tuple(replace(problem, line=lines.get(problem.key)) for problem in problems)
        super().__init__(file, self.problems)

    def __str__(self) -> str:
        return "\n".join([f"{self.file}: no plan can be made from this site file", *(f"  {p}" for p in self.problems)])


def lines_of(content: bytes, keys: Iterable[str]) -> dict[str, int]:
    """Return the line number of each of ``keys`` in ``content``, which must be valid YAML.

    A missing key gets the line of its nearest existing parent, or none when no parent exists.
    """
    root = yaml.compose(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    found = {key: _line(root, key) for key in keys}
    return {key: line for key, line in found.items() if line is not None}


def _line(node: yaml.Node | None, path: str) -> int | None:
    """Return the line of ``path`` below ``node``. A key may contain dots: the longest matching key is taken."""
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
