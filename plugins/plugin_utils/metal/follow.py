"""Follow the machines' progress: a live table on a terminal, one line for each change elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from os import terminal_size

from .overview import Overview, Row, one_line, summary, table

PAUSE = 1.0  # seconds between two looks
STILL = 5  # looks in a row without activity until it ends: between two phases of a run there is a moment without any


@dataclass(slots=True, kw_only=True)
class View:
    """Output of the rows on a terminal or in a log."""

    say: Callable[[str], None]  # prints lines
    draw: Callable[[str], None]  # writes raw text to the terminal
    terminal: terminal_size | None = None
    _drawn: int = field(default=0, init=False)
    _seen: dict[str, tuple[object, ...]] = field(default_factory=dict, init=False)

    def show(self, rows: list[Row], now: float) -> None:
        """Redraw the table, or print the rows that changed."""
        if self.terminal is None:
            for row in rows:
                seen = (row.state, row.doing, row.since)
                if self._seen.get(row.machine) != seen:
                    self.say(one_line(row))
                self._seen[row.machine] = seen
            return
        room = self.terminal.lines - 2
        lines = [*table(rows, now, lines=room).splitlines(), summary(rows)]
        back = f"\x1b[{self._drawn}A\x1b[J" if self._drawn else ""
        self.draw(back + "".join(f"{text[: self.terminal.columns - 1]}\n" for text in lines))
        self._drawn = len(lines)


def follow(
    overview: Overview, view: View, *, timeout: float, sleep: Callable[[float], None] = time.sleep
) -> tuple[list[Row], bool]:
    """Show the rows until no machine is active, or ``timeout`` s without a change; return them, whether all rest."""
    still, changed, before = 0, time.monotonic(), None
    while True:
        rows = overview.rows()
        view.show(rows, time.time())
        still = 0 if any(row.moving for row in rows) else still + 1
        if still >= STILL or (still and before is None):
            return rows, True
        if rows != before:
            before, changed = rows, time.monotonic()
        elif time.monotonic() - changed > timeout:
            return rows, False
        sleep(PAUSE)
