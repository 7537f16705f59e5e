"""The page for reviewers of a step of OpenStack's release: text that a terminal and a pull request show. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...module_utils._base.text import table
from ..status.rows import StatusRow

_SEEN = ("looked at", "name", "state", "what")
_AFTER = """\
What a way back is: until a service's pods are all new, its former ones serve on the expanded schema, and its release of
Helm can be brought back. Once a schema is contracted (keystone, glance), or data of Nova or Cinder are migrated,
former code does not run on it: forward only, or a backup set of before. `helm rollback` moves objects alone."""


def page(site: str, *, before: Sequence[str], target: str, parts: Mapping[str, Sequence[StatusRow]]) -> str:
    """Return the page. ``parts``: rows by what was looked at."""
    title = f"# OpenStack {' and '.join(before) or 'none'} to {target}: {site}"
    looked = table(_SEEN, *(cells for part, rows in parts.items() for cells in _rows(part, rows)))
    remedies = [f"* {row.name}: {row.remedy}" for rows in parts.values() for row in rows if row.remedy]
    return "\n".join([title, "", *looked, "", *(["First:", "", *remedies, ""] if remedies else []), _AFTER, ""])


def _rows(part: str, rows: Sequence[StatusRow]) -> list[tuple[str, ...]]:
    return [(part, row.name, row.state, row.what) for row in rows]
