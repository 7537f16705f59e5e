"""The page for reviewers of a step of OpenStack's release: text that a terminal and a pull request show. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..status.rows import StatusRow

_SEEN = ("looked at", "name", "state", "what")
_AFTER = """\
What a way back is: until a service's pods are all new, its former ones serve on the expanded schema, and its release of
Helm can be brought back. Once a schema is contracted (keystone, glance), or data of Nova or Cinder are migrated,
former code does not run on it: forward only, or a backup set of before. `helm rollback` moves objects alone."""


def page(site: str, *, before: Sequence[str], target: str, parts: Mapping[str, Sequence[StatusRow]]) -> str:
    """Return the page. ``parts``: rows by what was looked at."""
    title = f"# OpenStack {' and '.join(before) or 'none'} to {target}: {site}"
    lines = [_SEEN, *(cells for part, rows in parts.items() for cells in _rows(part, rows))]
    wide = [max(len(one[column]) for one in lines) for column in range(len(_SEEN))]
    table = ["| " + " | ".join(f"{text:<{size}}" for text, size in zip(one, wide, strict=True)) + " |" for one in lines]
    table.insert(1, "|" + "|".join("-" * (size + 2) for size in wide) + "|")
    remedies = [f"* {row.name}: {row.remedy}" for rows in parts.values() for row in rows if row.remedy]
    return "\n".join([title, "", *table, "", *(["First:", "", *remedies, ""] if remedies else []), _AFTER, ""])


def _rows(part: str, rows: Sequence[StatusRow]) -> list[tuple[str, ...]]:
    return [(part, row.name, row.state, row.what.replace("|", "/")) for row in rows]
