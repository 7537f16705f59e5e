"""Running a build's commands: output into its log, CPU time counted, no process left behind."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import GroundupError
from .idle import Idle

PATIENCE = 900.0  # seconds: a mirror that takes a connection and never answers would hold a build for ever
# Own mounts and processes, all of them gone with the first process.
NAMESPACES = ("unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child=KILL", "--propagation=private")


@dataclass(slots=True)
class Meter:
    """CPU seconds of one build: its commands and all their children, and this thread's own work."""

    children: float = 0.0
    _thread: float = field(default_factory=time.thread_time)

    def seconds(self) -> float:
        """Return what was used since the meter was made, in the thread that made it."""
        return self.children + time.thread_time() - self._thread


class Interrupted(Exception):  # noqa: N818 - not an error of the build
    """The run is being given up; commands under way are ended."""


def run(
    command: Sequence[str | Path],
    *,
    log: Path,
    meter: Meter,
    what: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stop: threading.Event | None = None,
    shown: Sequence[str | Path] | None = None,
    patience: float = PATIENCE,
) -> None:
    """Run ``command`` to its end. It dies with this process, whatever ends it.

    ``shown`` is what the log says was run, where the command has a frame around it that explains nothing. ``patience``
    is how many seconds it may do nothing. Raises GroundupError with the last lines of what it said when it fails or
    does nothing, Interrupted when ``stop`` is set meanwhile.
    """
    with log.open("ab") as stream:
        stream.write(f"\n$ {' '.join(map(str, shown or command))}\n".encode())
        stream.flush()
        begin = stream.tell()
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
            env=dict(env) if env is not None else None, cwd=cwd,
        )  # fmt: skip
        status = _wait(process, meter, stop or threading.Event(), Idle(process.pid, log, patience=patience))
    if status != 0:
        how = f"failed with status {status}" if status is not None else f"did nothing for {patience:g} s and was ended"
        raise GroundupError(
            f"{what} {how}:\n{tail(log, begin=begin)}",
            where=str(log),
            why="the artifact, and everything that needs it, is missing",
            remedy="read the log; run the same command again when the cause is gone: finished artifacts are kept",
        )


def tail(log: Path, *, begin: int, lines: int = 12) -> str:
    """Return the last ``lines`` of what a log holds from byte ``begin`` on, indented."""
    text = log.read_bytes()[begin:][-8192:].decode(errors="replace")
    return "\n".join("    " + line for line in text.splitlines()[-lines:])


def _wait(process: subprocess.Popen[bytes], meter: Meter, stop: threading.Event, idle: Idle) -> int | None:
    """Return the status of ``process``; None: it did nothing for too long and was ended."""
    pause = 0.005
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            meter.children += usage.ru_utime + usage.ru_stime
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
        interrupted = stop.wait(pause)
        if interrupted or idle.too_long():
            process.kill()
            os.wait4(process.pid, 0)
            process.returncode = -9
            if interrupted:
                raise Interrupted
            return None
        pause = min(pause * 2, 0.2)
