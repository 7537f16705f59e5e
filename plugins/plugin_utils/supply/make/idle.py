"""Detect a command that hangs (a mirror that never answers), but not one that works silently, as compilers do."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
CPU, WRITTEN = 1.0, 65536  # seconds and bytes that count as work; polling uses less
_TICK = 1 / os.sysconf("SC_CLK_TCK")


class Done(NamedTuple):
    """Work done so far by a command and its descendants."""

    cpu: float  # seconds
    written: int  # bytes, to files, pipes and sockets: even a slow download writes
    printed: int  # bytes in the log


class Idle:
    """Watch one command."""

    def __init__(self, pid: int, log: Path, *, patience: float) -> None:
        """Start watching; ``patience`` is the number of seconds the command may do nothing."""
        self._pid, self._log, self._patience = pid, log, patience
        self._since = self._next = time.monotonic()
        self._seen = Done(0.0, 0, log.stat().st_size)

    def too_long(self) -> bool:
        """Return whether the command has done nothing for too long."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + min(self._patience / 4, 10)
        found = done(self._pid, self._log)
        if worked(self._seen, found):
            self._seen, self._since = found, now
        return now - self._since > self._patience


def worked(before: Done, after: Done) -> bool:
    """Return whether work was done in between. Figures fall when a process ends that was not waited for."""
    return (
        after.printed != before.printed
        or abs(after.cpu - before.cpu) >= CPU
        or abs(after.written - before.written) >= WRITTEN
    )


def done(pid: int, log: Path) -> Done:
    """Return the work of ``pid`` and its descendants, including ended ones that were waited for."""
    cpu, written = 0.0, 0
    for process in _tree(pid):
        with contextlib.suppress(OSError):  # it ended meanwhile
            # proc(5): the command, in brackets, may contain any character; utime is field 14, cstime field 17.
            fields = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
            cpu += sum(map(int, fields[11:15])) * _TICK
            entries = (line.split() for line in (PROC / str(process) / "io").read_text().splitlines())
            written += next(int(value) for name, value in entries if name == "wchar:")
    return Done(cpu, written, log.stat().st_size)


def _tree(pid: int) -> list[int]:
    found = [pid]
    for process in found:  # grows during the loop
        with contextlib.suppress(OSError):  # it ended meanwhile
            for thread in (PROC / str(process) / "task").iterdir():
                with contextlib.suppress(OSError):
                    found += map(int, (thread / "children").read_text().split())
    return found
