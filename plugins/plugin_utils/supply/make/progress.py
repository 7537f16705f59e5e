"""Show the progress of a build: current step, elapsed and expected time of each artifact."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ...progress import SILENCE, TERMINAL, Progress, clock

Draw = Callable[[str], None]  # writes to a terminal unchanged: control sequences, no line end added


@dataclass(slots=True)
class _Running:
    started: float
    shown: float
    step: str


class BuildProgress:
    """Report from any thread: ``[supply 3/17 04:12] kubernetes: compiling, 03:30 of about 10:00; about 08:20 left``.

    Without ``draw`` every step is a line, repeated if an artifact is silent for long. With ``draw`` (a terminal),
    running artifacts are a block redrawn in place, and only the end of each is a permanent line.
    """

    def __init__(
        self,
        show: Progress,
        needs: Mapping[str, Iterable[str]],
        *,
        expected: Mapping[str, float],
        jobs: int,
        draw: Draw | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the clock. ``needs``: artifacts to build, dependencies first; ``expected``: seconds each will take."""
        self._show, self._draw, self._now, self._start = show, draw, now, now()
        self._needs, self._expected, self._jobs = needs, expected, jobs
        self._left, self._done, self._drawn = set(needs), 0, 0
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()

    def begin(self, name: str, what: str) -> None:
        """Start the clock of ``name``; ``what`` is shown only if it takes long."""
        with self._lock:
            self._running[name] = _Running(self._now(), self._now(), what)

    def step(self, name: str, what: str) -> None:
        """Show the current step of ``name``."""
        with self._lock:
            running = self._running[name]
            running.step, running.shown = what, self._now()
            self._redraw(None if self._draw else f"{self._head()} {name}: {what}")

    def end(self, name: str, how: str, *, done: bool = True) -> None:
        """Show how ``name`` ended; count it when it is ``done``."""
        with self._lock:
            self._running.pop(name, None)
            self._left.discard(name)
            self._done += done
            self._redraw(f"{self._head()} {name}: {how}")

    def tick(self) -> None:
        """Update the elapsed times of running artifacts. Call it about once a second."""
        with self._lock:
            if self._draw:
                self._redraw()
                return
            for name, running in self._running.items():
                if self._now() - running.shown >= SILENCE:
                    running.shown = self._now()
                    self._show(f"{self._head()} {name}: {self._time(name)}; {self._remaining()}")

    def close(self) -> None:
        """Remove the block from the terminal."""
        with self._lock:
            self._running.clear()
            self._redraw()

    def _redraw(self, line: str | None = None) -> None:
        """Show ``line`` above the block, and redraw the block."""
        if self._draw and self._drawn:
            self._draw(f"\x1b[{self._drawn}A\x1b[J")
        if line:
            self._show(line)
        if not self._draw:
            return
        lines = [f"{self._head()} {self._remaining()}", *(f"  {name}: {self._time(name)}" for name in self._running)]
        if TERMINAL:
            lines = [text[: TERMINAL.columns - 1] for text in lines[: TERMINAL.lines - 1]]
        self._drawn = len(lines) if self._running else 0
        if self._drawn:
            self._draw("\n".join(lines) + "\n")

    def _head(self) -> str:
        return f"[supply {self._done}/{len(self._needs)} {clock(self._now() - self._start)}]"

    def _time(self, name: str) -> str:
        running = self._running[name]
        return f"{running.step}, {clock(self._now() - running.started)} of about {clock(self._expected[name])}"

    def _remaining(self) -> str:
        """Estimate the remaining time: the longest dependency chain, or all work spread over the jobs."""
        lefts = {name: self._expected[name] if name in self._left else 0.0 for name in self._needs}
        for name, running in self._running.items():
            lefts[name] = max(lefts[name] - (self._now() - running.started), 0.0)
        seconds = seconds_left(self._needs, lefts, jobs=self._jobs)
        return f"about {clock(seconds)} left" if seconds else "longer than expected"


def seconds_left(needs: Mapping[str, Iterable[str]], lefts: Mapping[str, float], *, jobs: int) -> float:
    """Return the longest chain of ``needs`` (dependencies first) by ``lefts``, or all work spread over the jobs."""
    chains: dict[str, float] = {}
    for name, before in needs.items():
        chains[name] = lefts[name] + max((chains[need] for need in before), default=0.0)
    return max([*chains.values(), sum(lefts.values()) / jobs])
