"""Rows of what differs, their table, and the same as one document and as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...module_utils._base.text import aligned, few, gauges, printable

_NAMED = 3  # hosts of rows that say the same; others are counted
_SHOWN = 20  # lines of a layer
_WIDE = 160  # characters of a difference; the document has all
_HEADER = ("layer", "host", "what differs")
OBJECTS = "groundup_drift_objects"
UNKNOWN = "groundup_drift_unknown"
LOOKED = "groundup_drift_looked_timestamp_seconds"
_HELP = {OBJECTS: "Differences from the site file.", UNKNOWN: "What could not be asked.",
         LOOKED: "When the site was last compared with its site file."}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRow:
    """One difference, or something that could not be asked. Texts come from hosts: they are made printable."""

    layer: str
    host: str
    what: str
    by: str = ""  # who or what changed it last, and when; "": not known
    remedy: str = ""
    unknown: bool = False  # could not be asked

    def __post_init__(self) -> None:
        """Make its texts printable, each on one line."""
        for name in ("layer", "host", "what", "by", "remedy"):
            object.__setattr__(self, name, printable(" ".join(str(getattr(self, name)).split())))


Rows = Sequence[DriftRow]


def summary(site: str, rows: Rows) -> str:
    """Return the verdict in one line."""
    differs, unknown = (Counter(row.layer for row in rows if row.unknown is which) for which in (False, True))
    said = [
        f"{words}: {', '.join(f'{layer} {number}' for layer, number in found.items())}"
        for words, found in (("differs", differs), ("unknown", unknown))
        if found
    ]
    return f"{site}: {'; '.join(said) or 'nothing differs from the site file'}"


def table(site: str, rows: Rows, note: str) -> str:
    """Return one line a difference, hosts with the same one together, with remedies; then ``note`` and verdict."""
    same: dict[DriftRow, list[str]] = {}
    for row in rows:
        same.setdefault(replace(row, host=""), []).append(row.host)
    cells, remedy = [_HEADER] if rows else [], ""
    lines_of = Counter(row.layer for row in same)
    told = Counter[str]()
    for row, hosts in same.items():
        told[row.layer] += 1
        if told[row.layer] > _SHOWN:
            if told[row.layer] == lines_of[row.layer]:
                cells.append((row.layer, "", f"and {lines_of[row.layer] - _SHOWN} more: output=json has all"))
            continue
        what = f"{'unknown: ' if row.unknown else ''}{row.what}{f' (changed by {row.by})' if row.by else ''}"
        if remedy and remedy != row.remedy:
            cells.append(("", "", f"remedy: {remedy}"))
        remedy = row.remedy
        cells.append((row.layer, few(hosts, most=_NAMED), what if len(what) <= _WIDE else f"{what[:_WIDE]}…"))
    cells += [("", "", f"remedy: {remedy}")] if remedy else []
    lines = aligned(cells)
    return "\n".join([*lines, *(["", note] if lines else []), summary(site, rows)])


def document(site: str, time: str, rows: Rows, note: str) -> dict[str, Any]:
    """Return the differences as plain data, for JSON."""
    differs = sum(not row.unknown for row in rows)
    counts = {"differs": differs, "unknown": len(rows) - differs}
    state = "drift" if differs else "unknown" if rows else "clean"
    return {
        "site": site, "time": time, "state": state, "counts": counts, "summary": summary(site, rows), "plan": note,
        "rows": [asdict(row) for row in rows],
    }  # fmt: skip


def metrics(rows: Rows, layers: Collection[str], *, now: float) -> str:
    """Return the number of differences and unknowns by layer, and the time of this look, for the node exporter."""
    told: dict[str, tuple[str, Iterable[str]]] = {LOOKED: (_HELP[LOOKED], [f"{LOOKED} {now:.0f}"])}
    for name, unknown in ((OBJECTS, False), (UNKNOWN, True)):
        found = Counter(row.layer for row in rows if row.unknown is unknown)
        parts = dict.fromkeys([*layers, *(row.layer for row in rows)])
        told[name] = (_HELP[name], [f'{name}{{part="{layer}"}} {found[layer]}' for layer in parts])
    return gauges(told)
