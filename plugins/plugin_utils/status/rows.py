"""Rows of the state of a site: their table, and the same as one document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from ...module_utils._base.text import aligned, few, printable
from ..errors import GroundupError
from ..progress import clock

RowState = Literal["ok", "warning", "unknown", "not made", "broken"]
# From good to bad. Exit code 2 for the last two, 4 for unknown.
STATES: tuple[RowState, ...] = ("ok", "warning", "unknown", "not made", "broken")
BAD: frozenset[RowState] = frozenset(("not made", "broken"))
# Parts in the order of the table.
PARTS = (
    "hosts", "virtual_ip", "nodes", "releases", "ceph", "ovn", "hypervisors", "certificates", "backups", "versions",
    "machines",
)  # fmt: skip
_SHOWN, _NAMED = 8, 3  # rows of a part that are well, names of rows that say the same; others are counted
_HEADER = ("part", "name", "state", "what")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRow:
    """One thing of a site. Texts that come from hosts and services are untrusted: they are made printable."""

    name: str
    state: RowState
    what: str
    remedy: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make its texts printable, each on one line."""
        for name in ("name", "what", "remedy"):
            object.__setattr__(self, name, printable(" ".join(str(getattr(self, name)).split())))


def as_state(text: object) -> RowState:
    """Return the state that a host told; "unknown" for anything else."""
    return next((one for one in STATES if one == text), "unknown")


def run_layer(layer: str) -> str:
    """Return the remedy for what a layer has not made, or makes good."""
    return f"run the playbook groundup.cloud.{layer}"


def spoken_age(seconds: float) -> str:
    """Return an age in the unit in which one speaks of it."""
    if seconds < 7200:
        return f"{clock(seconds)} min"
    return f"{seconds / 3600:.0f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.0f} days"


Parts = Mapping[str, Sequence[StatusRow]]


def guarded(part: str, ask: Callable[[], list[StatusRow]]) -> list[StatusRow]:
    """Return the rows of a part; one row that says why when it cannot be asked. No fault of a part ends the others."""
    try:
        return ask()
    except GroundupError as error:
        return [StatusRow(name=part, state="unknown", what=f"{error.what} ({error.where})", remedy=error.remedy)]
    except Exception as error:  # noqa: BLE001  # whatever a client raises: the other parts are still told
        return [StatusRow(name=part, state="unknown", what=f"{type(error).__name__}: {error}")]


def counts(parts: Parts) -> dict[str, int]:
    """Return the number of rows by state."""
    found = Counter(row.state for rows in parts.values() for row in rows)
    return {state: found[state] for state in STATES if found[state]}


def worst(parts: Parts) -> RowState:
    return max((row.state for rows in parts.values() for row in rows), key=STATES.index, default="ok")


def document(site: str, time: str, parts: Parts) -> dict[str, Any]:
    """Return the state as plain data, for JSON."""
    plain = {name: [asdict(row) for row in parts.get(name, ())] for name in PARTS}
    return {"site": site, "time": time, "state": worst(parts), "counts": counts(parts), "parts": plain}


def summary(site: str, parts: Parts) -> str:
    """Return the number of rows by state, in words."""
    counted = counts(parts)
    said = ", ".join(f"{number} {state}" for state, number in counted.items() if state != "ok")
    return f"{site}: {said or 'all is well'}" + (f", {counted['ok']} ok" if said and "ok" in counted else "")


def verdict(site: str, parts: Parts) -> str:
    """Return which parts are not well, worst state first."""
    found = {
        state: [name for name in PARTS if any(row.state == state for row in parts.get(name, ()))] for state in STATES
    }
    said = [f"{state}: {', '.join(found[state])}" for state in reversed(STATES) if state != "ok" and found[state]]
    return "; ".join([f"{site} is not well" if said else f"{site} is well", *said])


def folded(rows: Sequence[StatusRow]) -> list[StatusRow]:
    """Return ``rows``, bad ones first; those that say the same are one, and of many that are well a number remains."""
    same: dict[tuple[str, ...], list[StatusRow]] = {}
    for row in rows:
        same.setdefault((row.name,) if row.state == "ok" else (row.state, row.what, row.remedy), []).append(row)
    shown = [replace(ones[0], name=few((one.name for one in ones), most=_NAMED)) for ones in same.values()]
    shown.sort(key=lambda row: STATES.index(row.state), reverse=True)  # stable
    more = sum(row.state == "ok" for row in shown) - _SHOWN
    return shown if more <= 1 else [*shown[:-more], StatusRow(name=f"{more} more", state="ok", what="")]


def table(site: str, parts: Parts) -> str:
    """Return one line a row, below each its remedy, and the number of rows by state."""
    cells: list[tuple[str, ...]] = [_HEADER]
    for part in PARTS:
        for number, row in enumerate(folded(parts.get(part, ()))):
            cells.append((part.replace("_", " ") if number == 0 else "", row.name, row.state, row.what))
            if row.remedy:
                cells.append(("", "", "", f"remedy: {row.remedy}"))
    return "\n".join([*aligned(cells), "", summary(site, parts)])
