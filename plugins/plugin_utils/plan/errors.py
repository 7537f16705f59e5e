"""The one exception a site file can cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault of a site file: where it is, why it is one, what to write instead."""

    key: str  # key path, "networks.storage.cidr"; "line 4, column 2" of broken YAML; "" for the whole file
    reason: str
    remedy: str
    line: int | None = None  # of the file; None: the key path says it, or nothing can

    def __str__(self) -> str:
        where = ", ".join(filter(None, (f"line {self.line}" if self.line else "", self.key)))
        return f"{where}: {self.reason}. Remedy: {self.remedy}" if where else f"{self.reason}. Remedy: {self.remedy}"


class SiteError(ValueError):
    """A site file no plan can be made from. Carries every problem found, not only the first.

    Attributes:
        file: path of the site file, or ``<site>`` for a model made in memory.
        problems: at least one.
    """

    def __init__(self, *problems: Problem, file: str, content: bytes = b"") -> None:
        """Keep the problems; with ``content``, the text of the file, each gets the line its key path stands on."""
        lines = lines_of(content, [problem.key for problem in problems]) if content else {}
        self.file = file
        self.problems = tuple(replace(problem, line=lines.get(problem.key)) for problem in problems)
        super().__init__(file, self.problems)

    def __str__(self) -> str:
        return "\n".join([f"{self.file}: no plan can be made from this site file", *(f"  {p}" for p in self.problems)])


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
