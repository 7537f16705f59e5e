"""Findings and defaults as text."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

from ....module_utils._base.text import printable
from ..types import Finding, ResourcePlan, Severity

_PLACES = 4  # keys that the table shows of a finding
_NAME, _WHERE = 34, 36  # characters; the longest finding name has 32


def table(findings: Sequence[Finding], *, width: int = 132) -> str:
    """Return ``findings`` as lines of at most ``width`` characters: severity and name; where; what, why, remedy."""
    if not findings:
        return "no findings"
    rows = [
        (
            [finding.severity.upper(), finding.name],
            _places(finding),
            [finding.what, finding.why, f"-> {finding.remedy}"],
        )
        for finding in findings
    ]
    return columns(("FINDING", "WHERE", "WHAT, WHY, REMEDY"), rows, end=summary(findings), width=width)


def _places(finding: Finding) -> list[str]:
    more = len(finding.where) - _PLACES
    return [*finding.where[:_PLACES], *([f"and {more} more"] if more > 0 else [])]


def columns(
    titles: tuple[str, str, str],
    rows: Sequence[tuple[Sequence[str], Sequence[str], Sequence[str]]],
    *,
    end: str,
    width: int = 132,
) -> str:
    """Return ``rows`` in three columns below ``titles``. Each cell holds paragraphs, which are wrapped."""
    text = max(40, width - _NAME - _WHERE - 4)
    lines = [f"{titles[0]:<{_NAME}}  {titles[1]:<{_WHERE}}  {titles[2]}", "-" * width]
    for name, where, what in rows:
        columns = (_wrapped(name, _NAME), _wrapped(where, _WHERE), _wrapped(what, text))
        lines += [""] if len(lines) > 2 else []
        for row in range(max(map(len, columns))):
            cells = [printable(column[row]) if row < len(column) else "" for column in columns]
            lines.append(f"{cells[0]:<{_NAME}}  {cells[1]:<{_WHERE}}  {cells[2]}".rstrip())
    return "\n".join([*lines, "-" * width, end])


def defaults_text(values: Mapping[str, str]) -> str:
    """Return the defaults in effect, one per line."""
    width = max(map(len, values), default=0)
    lines = [f"  {key:<{width}}  {value}" for key, value in values.items()]
    return (
        "\n".join(["defaults in effect (each can be written in the site file):", *lines])
        if lines
        else "no defaults in effect"
    )


def resources_text(resources: Sequence[ResourcePlan]) -> str:
    """Return how many resources of each kind there are, as one line; "" for none."""
    counted = Counter(one.kind.replace("_", " ") for one in resources)
    return ", ".join(f"{number} {kind}{'s' if number != 1 else ''}" for kind, number in counted.items())


def summary(findings: Sequence[Finding]) -> str:
    """Return the number of findings of each severity, as text."""
    counted = count(findings)
    return ", ".join(f"{number} {severity}{'s' if number != 1 else ''}" for severity, number in counted.items())


def count(findings: Sequence[Finding]) -> dict[Severity, int]:
    """Return the number of findings by severity, worst first."""
    counted = Counter(finding.severity for finding in findings)
    return {"error": counted["error"], "warning": counted["warning"], "info": counted["info"]}


def _wrapped(paragraphs: Sequence[str], width: int) -> list[str]:
    texts = (" ".join(_cut(word, width) for word in words.split(" ")) for words in paragraphs)
    return [line for text in texts for line in textwrap.wrap(text, width, break_on_hyphens=False) or [""]]


def _cut(word: str, width: int) -> str:
    """Return a key that is longer than a line with a space behind the last dot that fits, where it goes on."""
    end = (word.rfind(".", 0, width) + 1) or width
    return word if len(word) <= width else f"{word[:end]} {_cut(word[end:], width)}"
