"""Run command-line tools in their own process groups, and end whole groups.

Every child is a session leader, so one signal reaches all its processes. `setpriv --pdeathsig` makes the kernel send
the child SIGTERM when this process dies without cleanup (SIGKILL, out of memory).
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from .errors import GroundupError


def bypassing(environment: Mapping[str, str], places: Sequence[str]) -> dict[str, str]:
    """Return ``environment`` whose proxies leave out ``places``: addresses, names, domains with a leading dot."""
    if not any(name.lower().endswith("_proxy") for name in environment):
        return dict(environment)
    # Clients read one of the two, not both; they split by commas, and some by blanks, too.
    known = [environment.get(name, "") for name in ("no_proxy", "NO_PROXY")]
    parts = [part for text in (*known, *places) for part in text.replace(",", " ").split()]
    left_out = "*" if "*" in parts else ",".join(dict.fromkeys(parts))  # beside other words, some take no * for all
    return {**environment, "no_proxy": left_out, "NO_PROXY": left_out}


class InterruptedRunError(GroundupError):
    """The run was told to stop. All child processes are ended; the next run continues."""

    def __init__(self, by: str = "a failure elsewhere in it") -> None:
        """Keep the cause: the name of a signal."""
        super().__init__(
            f"the rollout was stopped by {by}",
            where="this run",
            why="releases on their way are left as they are; nothing is rolled back",
            remedy="run it again: it heals what was interrupted and goes on",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Result of a child process."""

    code: int
    stdout: str
    stderr: str


class Processes:
    """All children of one run. After `stop`, none starts."""

    def __init__(self, *, grace: float = 10.0) -> None:
        self._grace = grace  # seconds between SIGTERM and SIGKILL
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def raise_if_stopped(self) -> None:
        """Raise InterruptedRunError when the run was told to stop. Call this before each change."""
        if self._stopped.is_set():
            raise InterruptedRunError

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        inherit: Sequence[int] = (),
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Finished:
        """Run ``argv`` without a shell, with ``stdin`` as its input, and return its result.

        ``inherit``: file descriptors that the child keeps open (a lock held until the last child has ended).
        ``timeout`` (seconds) and ``cancel`` end the whole process group. Raises InterruptedRunError after `stop`,
        GroundupError when the program does not exist.
        """
        with self._lock:
            self.raise_if_stopped()
            try:
                process = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "TERM", "--", *argv],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                    pass_fds=tuple(inherit),
                    env=dict(env) if env is not None else None,
                )
            except FileNotFoundError as error:
                raise GroundupError(
                    f"{error.filename} is not installed",
                    where="this machine",
                    why="it ends a child process when the rollout dies",
                    remedy="install the OS package util-linux",
                ) from error
            self._running[process.pid] = process
        try:
            return self._wait(process, stdin=stdin, timeout=timeout, cancel=cancel)
        finally:
            self._end(process)
            with self._lock:
                self._running.pop(process.pid, None)

    def stop(self) -> None:
        """End every child with its group: SIGTERM, then SIGKILL for survivors of the grace period."""
        self._stopped.set()
        with self._lock:
            running = list(self._running.values())
        for process in running:
            _signal_group(process.pid, signal.SIGTERM)
        for process in running:
            self._end(process, asked=True)

    def _wait(
        self, process: subprocess.Popen[str], *, stdin: str, timeout: float | None, cancel: threading.Event | None
    ) -> Finished:
        deadline = None if timeout is None else time.monotonic() + timeout
        fed: str | None = stdin
        while True:
            try:
                stdout, stderr = process.communicate(fed, timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                fed = None  # the first call took the input; further calls only read
                late = deadline is not None and time.monotonic() > deadline
                if late or self._stopped.is_set() or (cancel is not None and cancel.is_set()):
                    self._end(process)
        self.raise_if_stopped()
        return Finished(code=process.returncode, stdout=stdout, stderr=stderr)

    def _end(self, process: subprocess.Popen[str], *, asked: bool = False) -> None:
        if not asked and process.poll() is None:
            _signal_group(process.pid, signal.SIGTERM)
        end = time.monotonic() + self._grace
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        # The leader may have ended while a grandchild of its group still runs.
        _signal_group(process.pid, signal.SIGKILL)


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


@contextmanager
def stop_on_signals(processes: Processes) -> Iterator[None]:
    """End all children on SIGINT or SIGTERM, raise InterruptedRunError. In other threads it does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, _frame: FrameType | None) -> None:
        # Children are ended in a separate thread: a handler must not wait for a lock that its own thread holds.
        stopper = threading.Thread(target=processes.stop, name="stop")
        stopper.start()
        raise InterruptedRunError(signal.Signals(number).name)

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
