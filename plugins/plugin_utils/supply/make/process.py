"""Run a build's commands: log their output, count CPU time, leave no process behind.

A command that hangs (a mirror that never answers) is ended, one that works silently, as compilers do, is not.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ...errors import GroundupError
from . import machine

PATIENCE = 900.0  # seconds: a mirror that accepts a connection and never answers would block a build for ever
_NAMESPACES = ("unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child=KILL", "--propagation=private")
# Their first process is a shell that waits: one that becomes another program from a thread, as `go` does for another
# toolchain, loses the signal that it is to get (prctl(2), PR_SET_PDEATHSIG is of a thread).
_FIRST = ("--", "/bin/sh", "-c", '"$@" || exit; exit 0', "sh")

PROC = Path("/proc")
CPU, WRITTEN = 1.0, 65536  # seconds and bytes that count as work; polling uses less
_TICK = 1 / os.sysconf("SC_CLK_TCK")


def enclosed(command: Sequence[str | Path], *options: str) -> list[str | Path]:
    """Return ``command`` in mount and process namespaces of its own, which end with what starts it.

    ``options`` are further ones of unshare(1).
    """
    return [*_NAMESPACES, *options, *_FIRST, *command]


class Interrupted(Exception):  # noqa: N818 - not an error of the build
    """The run is being aborted; running commands are killed."""


@dataclass(slots=True)
class Commands:
    """Run the commands of one build. Each is killed when this process ends for any reason."""

    log: Path  # receives their output
    stop: threading.Event = field(default_factory=threading.Event)  # set when the run is being aborted
    _children: float = 0.0
    _thread: float = field(default_factory=time.thread_time)

    def cpu_seconds(self) -> float:
        """Return the CPU time of the commands, their children, and the thread that created this object."""
        return self._children + time.thread_time() - self._thread

    def run(
        self,
        command: Sequence[str | Path],
        *,
        what: str,
        env: Mapping[str, str] | None = None,
        shown: Sequence[str | Path] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """Run ``command``, called ``what`` in an error, and wait for it.

        ``shown``: command to show in the log instead. ``patience``: seconds it may do nothing.

        Raises GroundupError with its last lines when it fails or does nothing, Interrupted when the run is aborted.
        """
        with self.log.open("ab") as stream:
            stream.write(f"\n$ {' '.join(map(str, shown or command))}\n".encode())
            stream.flush()
            begin = stream.tell()
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, env=env,
            )  # fmt: skip
            status = self._wait(process, Idle(process.pid, self.log, patience=patience))
        said = self.log.read_bytes()
        if (clean := machine.clean(said)) != said:
            self.log.write_bytes(clean)
        if status != 0:
            how = (
                f"failed with status {status}"
                if status is not None
                else f"did nothing for {patience:g} s and was ended"
            )
            raise GroundupError(
                f"{what} {how}:\n{_tail(self.log, begin)}",
                where=str(self.log),
                why="the artifact, and everything that needs it, is missing",
                remedy="read the log, mend the cause, run the same command again: finished artifacts are kept",
            )

    def _wait(self, process: subprocess.Popen[bytes], idle: Idle) -> int | None:
        """Return the exit status of ``process``; None: it did nothing for too long and was killed."""
        pause = 0.005
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                self._children += usage.ru_utime + usage.ru_stime
                process.returncode = os.waitstatus_to_exitcode(status)
                return process.returncode
            interrupted = self.stop.wait(pause)
            if interrupted or idle.too_long():
                process.kill()
                os.wait4(process.pid, 0)
                process.returncode = -9
                if interrupted:
                    raise Interrupted
                return None
            pause = min(pause * 2, 0.2)


def _tail(log: Path, begin: int) -> str:
    """Return the last lines of a log from byte ``begin`` on, indented."""
    text = log.read_bytes()[begin:][-8192:].decode(errors="replace")
    return "\n".join("    " + line for line in text.splitlines()[-12:])


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
