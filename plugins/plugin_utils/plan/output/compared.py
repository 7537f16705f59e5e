"""Differences of two plans as a table and as a document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from ....module_utils._base.text import aligned, few, printable
from ...layers.layers import LAYERS
from .differences import HIDDEN, NO_LAYER, PlanDifference, counts

_SHOWN = 20  # lines of a layer; the document has all
_NAMED = 3  # hosts of a line
_WIDE = 60  # characters of a value
Rows = Sequence[PlanDifference]


def ordered(rows: Iterable[PlanDifference]) -> list[PlanDifference]:
    """Return ``rows`` in the order of the layers, those of no layer last."""
    order = {layer: at for at, layer in enumerate((*LAYERS, NO_LAYER))}
    return sorted(rows, key=lambda row: (order.get(row.layer, len(order)), row.kind, row.what, row.host))


def summary(rows: Rows) -> str:
    """Return what a run would change, in one line."""
    found = counts(rows)
    beside = found.pop(NO_LAYER, {})
    said = [f"a run would change: {'; '.join(f'{layer} {_kinds(kinds)}' for layer, kinds in found.items())}"]
    said = said if found else ["a run would change nothing"]
    return "; ".join([*said, *([f"of no layer: {_kinds(beside)}"] if beside else [])])


def table(rows: Rows) -> str:
    """Return one line a difference, hosts with the same one together, and the summary."""
    same: dict[str, list[PlanDifference]] = {}
    for row in rows:
        same.setdefault(json.dumps(asdict(replace(row, host="")), sort_keys=True), []).append(row)
    lines: dict[str, list[tuple[str, str, str, str]]] = {}
    for row, *others in same.values():
        hosts = few(filter(None, (one.host for one in (row, *others))), most=_NAMED)
        what = hosts if row.kind == "host" else f"{row.what} ({hosts})" if hosts else row.what
        lines.setdefault(row.layer, []).append((row.layer or "-", row.kind, printable(what), _values(row)))
    cells = [("layer", "kind", "what", "before -> now")] if rows else []
    for own in lines.values():
        cells += own[:_SHOWN]
        if len(own) > _SHOWN:
            cells.append((own[0][0], "", f"and {len(own) - _SHOWN} more: output=json has all", ""))
    return "\n".join([*aligned(cells), summary(rows)])


def document(site: str, against: str, rows: Rows) -> dict[str, Any]:
    """Return the differences as plain data, for JSON."""
    return {
        "site": site, "against": against, "state": "differs" if rows else "same", "counts": counts(rows),
        "summary": summary(rows), "rows": [asdict(row) for row in rows],
    }  # fmt: skip


def _kinds(kinds: dict[str, int]) -> str:
    return ", ".join(f"{number} {_noun(kind, number)}" for kind, number in kinds.items())


def _noun(kind: str, number: int) -> str:
    return kind if number == 1 else f"{kind}es" if kind.endswith("s") else f"{kind}s"


def _values(row: PlanDifference) -> str:
    if row.before is row.now is None:  # a file, whose content is not told
        return row.change
    if row.change != "changed" and row.kind in ("host", "chart", "resource", "finding"):
        return row.change
    if isinstance(row.before, list) and isinstance(row.now, list):
        gone = [f"-{_cut(one)}" for one in row.before if one not in row.now]
        new = [f"+{_cut(one)}" for one in row.now if one not in row.before]
        return few([*gone, *new]) or "another order"
    if row.before == row.now == HIDDEN:
        return f"{HIDDEN}, another one"
    ends = {"new": ("not there", row.now), "gone": (row.before, "not there")}
    before, now = ends.get(row.change, (row.before, row.now))
    return f"{_cut(before)} -> {_cut(now)}"


def _cut(value: Any) -> str:
    text = printable(value if isinstance(value, str) else json.dumps(value, sort_keys=True))
    text = text or '""'
    return text if len(text) <= _WIDE else f"{text[:_WIDE]}…"
