"""Run a build's commands: log their output, count CPU time, leave no process behind."""

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

PATIENCE = 900.0  # seconds: a mirror that accepts a connection and never answers would block a build for ever
# Own mount and process namespaces, which end with the first process.
NAMESPACES = ("unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child=KILL", "--propagation=private")


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
        """Run ``command`` and wait for it.

        Args:
            command: program and arguments.
            what: name of the command in an error.
            env: its environment; default: this process's.
            shown: command to show in the log; default: ``command``.
            patience: seconds it may do nothing.

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
