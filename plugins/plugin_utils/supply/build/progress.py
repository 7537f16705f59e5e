"""Progress of a long run: what, which of how many, how long so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

Progress = Callable[[str], None]  # receives one short line at a time


def silent(line: str) -> None:
    """Show nothing."""
    del line


class Counter:
    """Writes lines of the form ``[supply 3/17 01:42] kubernetes: compiling``, from any thread."""

    def __init__(self, show: Callable[[str], None], *, total: int, title: str = "supply") -> None:
        """Start the clock."""
        self._show, self._total, self._title = show, total, title
        self._lock, self._done, self._start = threading.Lock(), 0, time.monotonic()

    def step(self, name: str, what: str) -> None:
        """Say what ``name`` is doing."""
        with self._lock:
            self._show(f"[{self._title} {self._done}/{self._total} {clock(self.elapsed)}] {name}: {what}")

    def done(self, name: str, what: str) -> None:
        """Count ``name`` as finished."""
        with self._lock:
            self._done += 1
            self._show(f"[{self._title} {self._done}/{self._total} {clock(self.elapsed)}] {name}: {what}")

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start


def clock(seconds: float) -> str:
    """Return ``mm:ss``."""
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"
