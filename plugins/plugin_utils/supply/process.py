"""Running a build's commands: output into its log, CPU time counted, no process left behind."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import GroundupError

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
) -> None:
    """Run ``command`` to its end. It dies with this process, whatever ends it.

    ``shown`` is what the log says was run, where the command has a frame around it that explains nothing. Raises
    GroundupError with the last lines of what it said when it fails, Interrupted when ``stop`` is set meanwhile.
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
        status = _wait(process, meter, stop)
    if status != 0:
        raise GroundupError(
            f"{what} failed with status {status}:\n{tail(log, begin=begin)}",
            where=str(log),
            why="the artifact, and everything that needs it, is missing",
            remedy="read the log; run the same command again when the cause is gone: finished artifacts are kept",
        )


def tail(log: Path, *, begin: int, lines: int = 12) -> str:
    """Return the last ``lines`` of what a log holds from byte ``begin`` on, indented."""
    text = log.read_bytes()[begin:][-8192:].decode(errors="replace")
    return "\n".join("    " + line for line in text.splitlines()[-lines:])


def _wait(process: subprocess.Popen[bytes], meter: Meter, stop: threading.Event | None) -> int:
    pause = 0.005
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG if stop is not None else 0)
        if pid:
            meter.children += usage.ru_utime + usage.ru_stime
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
        if stop is not None and stop.wait(pause):
            process.kill()
            os.wait4(process.pid, 0)
            process.returncode = -9
            raise Interrupted
        pause = min(pause * 2, 0.2)
