"""Overview of a site's machines: one row each, from the plan and their journals."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from ...module_utils._base.text import aligned, printable
from ..plan.types import Plan
from ..progress import clock
from .journal import Journal, file_of
from .way import VERBS, asked_about, possible

AT_REST = frozenset(("installed", "serving", "failed", "quarantined", "retired"))  # states without activity
DISCOVERED = "discovered"  # subdirectory with the journals of unidentified machines
_ELSEWHERE = frozenset(("expected", "approved", "retired"))  # hidden without a host: it has a name by now, or is gone
Phase = tuple[str, str]  # state and activity
HEADER = ("machine", "rack", "state", "since", "about", "doing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One machine. Texts from Ironic, controllers and machines are untrusted: they were made printable."""

    machine: str
    rack: str
    group: str
    provisioner: str  # empty, like rack and group, when it is not in the site file
    state: str | None  # None: the seed does not install it
    doing: str
    since: float | None  # seconds of the epoch
    expected: float | None  # seconds, from the site's history
    moving: bool
    card: dict[str, str] | None
    may: dict[str, str]  # decision -> why it is not possible, empty when it is
    asks: str  # when it waits for approval: its node, and a digest of its disks' contents

    def elapsed(self, now: float) -> float | None:
        """Return the seconds in the present state."""
        return None if self.since is None else max(now - self.since, 0.0)


class Overview:
    """The rows of one site. Unchanged journals are not read again."""

    def __init__(self, plan: Plan, home: Path, *, refresh: Callable[[], str] = str) -> None:
        """Take the plan and the journals' directory; ``refresh`` updates the journals and returns its error, or ""."""
        self._plan, self._home, self._refresh = plan, home, refresh
        self.lacks = ""  # why journals may be outdated
        self._kept: dict[str, tuple[tuple[int, int], list[dict[str, Any]]]] = {}

    def rows(self) -> list[Row]:
        """Return one row for each machine, in the plan's order; then machines with only a journal."""
        self.lacks = self._refresh()
        files = {name: file_of(self._home, name) for name in self._plan.hosts}
        for folder in (self._home, self._home / DISCOVERED):
            files |= {path.stem: path for path in sorted(folder.glob("[!.]*.jsonl")) if path.stem not in files}
        journals = {name: self._lines(name, path) for name, path in files.items()}
        usual = _usual(journals.values())
        rows = [self._row(name, lines, usual) for name, lines in journals.items()]
        return [row for row in rows if row.provisioner or row.state not in _ELSEWHERE]

    def _row(self, name: str, lines: list[dict[str, Any]], usual: Mapping[Phase, float]) -> Row:
        host, last = self._plan.hosts.get(name), lines[-1] if lines else {}
        dark = host is None or host.provisioner == "ironic"
        state = str(last.get("state") or "expected") if last or dark else None
        waits = "nothing was done with it yet" if dark else "not installed by the seed"
        card = last.get("card")
        return Row(
            machine=printable(name),
            rack=host.rack if host else "",
            group=host.group if host else "",
            provisioner=host.provisioner if host else "",
            state=state,
            doing=printable(str(last.get("doing") or "")) if last else waits,
            since=float(last["time"]) if last else None,
            expected=usual.get(_phase(last)) if last else None,
            moving=bool(last and host) and state not in AT_REST and not card,
            card={key: printable(str(card.get(key))) for key in ("what", "why", "remedy")} if card else None,
            may=possible(last) if dark and host else dict.fromkeys(VERBS, "the seed does not install it"),
            asks=asked_about(last),
        )

    def _lines(self, name: str, path: Path) -> list[dict[str, Any]]:
        try:
            found = path.stat()
        except FileNotFoundError:
            return []
        stamp = (found.st_mtime_ns, found.st_size)
        if name not in self._kept or self._kept[name][0] != stamp:
            lines = [line for line in Journal(path).lines() if isinstance(line.get("time"), int | float)]
            self._kept[name] = (stamp, lines)
        return self._kept[name][1]


def _phase(line: Mapping[str, Any]) -> Phase:
    # The text of another attempt contains the last error, after a colon.
    return str(line.get("state")), str(line.get("doing") or "").partition(":")[0]


def _usual(journals: Iterable[list[dict[str, Any]]]) -> dict[Phase, float]:
    """Return the median duration of each phase, without phases that ended in a failure."""
    took: dict[Phase, list[float]] = {}
    for lines in journals:
        for line, after in pairwise(lines):
            if after.get("state") != "failed" and line.get("state") not in AT_REST:
                took.setdefault(_phase(line), []).append(after["time"] - line["time"])
    return {phase: statistics.median(seconds) for phase, seconds in took.items()}


def as_dict(row: Row, now: float) -> dict[str, Any]:
    elapsed = row.elapsed(now)
    return asdict(row) | {"elapsed": None if elapsed is None else round(elapsed, 1)}


def as_json(site: str, rows: Iterable[Row], now: float) -> str:
    """Return the overview as JSON; its schema is that of the module machines."""
    return json.dumps({"site": site, "time": round(now, 3), "machines": [as_dict(row, now) for row in rows]}, indent=2)


def one_line(row: Row) -> str:
    """Return a machine's state in one line, for a log."""
    about = f" (about {clock(row.expected)})" if row.expected is not None else ""
    said = f"{row.card['what']}; remedy: {row.card['remedy']}" if row.card else row.doing
    return f"{row.machine}: {row.state or row.provisioner}{f', {said}' if said else ''}{about}"


def table(rows: Iterable[Row], now: float, *, lines: int | None = None) -> str:
    """Return one line for each machine, with reason and remedy below a failed one.

    ``lines`` limits their number: active and failed machines then come first.
    """
    found = list(rows)
    if lines is not None and len(_lines(found, now)) > lines:
        found.sort(key=lambda row: (not row.moving, row.card is None))  # stable: the plan's order otherwise
        ends = accumulate(3 if row.card else 1 for row in found)
        found = found[: sum(end < lines for end in ends)]
    return "\n".join(aligned(_lines(found, now)))


def summary(rows: Iterable[Row]) -> str:
    """Return the number of machines in each state."""
    counted: dict[str, int] = {}
    for row in rows:
        counted[row.state or row.provisioner] = counted.get(row.state or row.provisioner, 0) + 1
    return ", ".join(f"{number} {state}" for state, number in counted.items()) or "no machine"


def _lines(rows: list[Row], now: float) -> list[tuple[str, ...]]:
    cells: list[tuple[str, ...]] = [HEADER]
    for row in rows:
        elapsed = row.elapsed(now)
        since = "-" if elapsed is None else _duration(elapsed)
        about = "-" if row.expected is None else _duration(row.expected)
        doing = row.card["what"] if row.card else row.doing
        cells.append((row.machine, row.rack or "-", row.state or "-", since, about, doing))
        if row.card:
            empty = ("",) * (len(HEADER) - 1)
            cells += [(*empty, f"why: {row.card['why']}"), (*empty, f"remedy: {row.card['remedy']}")]
    return cells


def _duration(seconds: float) -> str:
    minutes = int(seconds) // 60
    return clock(seconds) if minutes < 100 else f"{minutes // 60} h" if minutes < 6000 else f"{minutes // 1440} d"
