"""One progress line per release: printed when something changed, and again after a silence.

The same on a terminal and in a log: lines are only ever added.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..types import State

SILENCE = 12.0  # seconds without output until releases under way are printed again
_CALM = 4.0  # seconds between two lines of one release that differ only in what it waits for
_OVER = ("ready", "unchanged", "failed", "not started")


@dataclass(slots=True)
class _Line:
    state: State = "waiting"
    ready: int = 0
    total: int = 0
    waiting_for: str = ""
    started: float = 0.0
    printed: float = 0.0


class ReleaseProgress:
    """Progress of all releases. ``say`` prints finished lines, one at a time, from any thread."""

    def __init__(
        self, names: Iterable[str], say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lines = {name: _Line() for name in names}
        self._width = max((len(name) for name in self._lines), default=0)
        self._say = say
        self._clock = clock
        self._lock = threading.Lock()
        self._spoke = clock()

    def update(self, name: str, state: State, *, ready: int = 0, total: int = 0, waiting_for: str = "") -> None:
        """Record a release's state; print it when it changed."""
        with self._lock:
            line, now = self._lines[name], self._clock()
            if line.state == "waiting" and state != "waiting":
                line.started = now
            news = line.state != state or (state not in _OVER and line.ready != ready)
            detail = line.waiting_for != waiting_for and now - line.printed >= _CALM
            line.state, line.ready, line.total, line.waiting_for = state, ready, total, waiting_for
            if news or detail:
                self._print(name)

    def say(self, text: str) -> None:
        """Print a text between the lines."""
        with self._lock:
            self._spoke = self._clock()
            self._say(text)

    def tick(self) -> None:
        """Print releases under way again after a silence. To be called regularly."""
        with self._lock:
            if self._clock() - self._spoke < SILENCE:
                return
            for name, line in self._lines.items():
                if line.state != "waiting" and line.state not in _OVER:
                    self._print(name)

    def _print(self, name: str) -> None:
        line, now = self._lines[name], self._clock()
        line.printed = self._spoke = now
        counts = f"{line.ready}/{line.total}" if line.total else ""
        elapsed = f"{now - line.started:4.0f} s" if line.started else ""
        text = f"{name:<{self._width}}  {line.state:<11} {counts:>5}  {elapsed:>6}"
        self._say(f"{text}  {line.waiting_for}".rstrip())
