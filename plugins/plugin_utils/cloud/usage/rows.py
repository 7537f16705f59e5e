"""Rows of capacity and of use, as CSV, table and metrics; questions whose faults do not end the others."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from ....module_utils._base.text import gauges, label, printable
from ...errors import GroundupError
from ..connection import answered

FIGURES = {
    "capacity": ("groundup_capacity", "What a place can give, of each resource."),
    "used": ("groundup_capacity_used", "What is used of it."),
    "free": ("groundup_capacity_free", "What new ones can get."),
}
LOOKED = "groundup_capacity_looked_timestamp_seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRow:
    """One resource in one place. None: no such figure."""

    scope: str  # cloud, zone, aggregate, pool or network
    name: str
    resource: str
    unit: str
    hosts: int | None = None
    hosts_away: int | None = None  # disabled or down
    total: float | None = None
    reserved: float | None = None
    ratio: float | None = None
    capacity: float | None = None
    used: float | None = None
    free: float | None = None
    provisioned: float | None = None
    growth_per_day: float | None = None
    days_left: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """What one project used of one resource."""

    start: str
    end: str
    domain_id: str
    domain: str
    project_id: str
    project: str
    resource: str
    name: str
    amount: float
    unit: str
    covers: str  # period: what was deleted since as well; living: in the period, of what lives; now: what is there


Row = CapacityRow | UsageRow
Kind = type[CapacityRow] | type[UsageRow]
OneKind = TypeVar("OneKind", bound=Row)


def gather(questions: Mapping[str, Callable[[], Iterable[OneKind]]]) -> tuple[list[OneKind], list[str]]:
    """Return the rows of all questions, and why some have none."""
    rows: list[OneKind] = []
    unknown = []
    for name, ask in questions.items():
        try:
            with answered(name):
                rows += [*ask()]  # none of a half list
        except GroundupError as error:
            unknown.append(f"{name}: {error.what}")
    return rows, unknown


def as_csv(kind: Kind, rows: Sequence[Row]) -> str:
    """Return a line of column names, and one a row. Names come from users: none is a formula of a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [one.name for one in fields(kind)], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in asdict(row).items()} for row in rows)
    return text.getvalue().rstrip("\n")


def metrics(rows: Iterable[CapacityRow], *, now: float) -> str:
    """Return the figures of capacity for the node exporter. Networks of one name, which it would refuse, are one."""
    told = {LOOKED: ("When the cloud was last asked for its room.", [f"{LOOKED} {now:.0f}"])}
    for field, (name, what) in FIGURES.items():
        found = Counter[tuple[str, str, str]]()
        for row in rows:
            if (value := getattr(row, field)) is not None:
                found[row.scope, row.name, row.resource] += value
        told[name] = (what, [
            f'{name}{{scope="{scope}",name="{label(place)}",resource="{resource}"}} {value}'
            for (scope, place, resource), value in found.items()
        ])  # fmt: skip
    return gauges(told)


def _plain(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def table(kind: Kind, rows: Sequence[Row]) -> str:
    """Return the columns in which something stands. Names come from users: they are made printable."""
    plain = [asdict(row) for row in rows]
    names = [one.name for one in fields(kind) if any(row[one.name] not in (None, "") for row in plain)]
    cells = [[name.replace("_", " ") for name in names], *([_cell(row[name]) for name in names] for row in plain)]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numbers = [all(not isinstance(row[name], str) for row in plain) for name in names]
    return "\n".join(
        "  ".join(
            f"{text:>{size}}" if right else f"{text:<{size}}"
            for text, size, right in zip(line, wide, numbers, strict=True)
        ).rstrip()
        for line in cells
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0")
    return "" if value is None else printable(str(value))
