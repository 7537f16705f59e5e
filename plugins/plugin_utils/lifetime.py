"""The workers of a run end with it, however it ends.

Ansible gives each worker a session of its own: a worker of a killed run would work on beside the next run, and then
wait for ever for somebody to read its result.
"""

from __future__ import annotations

import functools
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_lingers = [0.0]  # seconds


@contextmanager
def linger(seconds: float) -> Iterator[None]:
    """Let this worker live for ``seconds`` more when its run dies in the block: SIGTERM says so, to clean up."""
    _lingers[0] = seconds
    try:
        yield
    finally:
        _lingers[0] = 0.0


@functools.cache  # once: such a hook cannot be taken back
def end_workers_with_run() -> None:
    """End every process this one forks from now on, with its process group, when this one dies.

    A thread of the child waits for the death. A signal from the kernel (prctl) would do nothing until the worker's main
    thread wakes up, and one that has just begun to wait for a command's output does not.
    """
    run, forking = os.getpid(), [0]

    def note() -> None:
        forking[0] = os.getpid()

    def watch() -> None:
        if forking[0] != run:  # a worker's own child ends with the worker's group
            return
        try:
            parent = os.pidfd_open(run)
        except ProcessLookupError:
            os._exit(1)
        if os.getppid() != run:  # it died meanwhile, and its number is another's
            os._exit(1)
        threading.Thread(target=_end_with, args=(parent,), name="lifetime", daemon=True).start()

    os.register_at_fork(before=note, after_in_child=watch)


def _end_with(parent: int) -> None:
    select.select([parent], [], [])  # readable once the process has ended
    if os.getsid(0) == os.getpid():  # else the group is the terminal's
        os.killpg(0, signal.SIGTERM)
    end = time.monotonic() + _lingers[0]
    while _lingers[0] and time.monotonic() < end:
        time.sleep(0.1)
    os._exit(1)
