"""End the workers of a run when the run ends, even when it is killed; tell whether the process of a run still lives.

Ansible gives each worker its own session: a worker of a killed run would work on beside the next run, and then wait
forever for a reader of its result.
"""

from __future__ import annotations

import functools
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_lingers = [0.0]  # seconds


@contextmanager
def linger(seconds: float) -> Iterator[None]:
    """Give this worker ``seconds`` for cleanup when its run dies inside the block. It gets SIGTERM first."""
    _lingers[0] = seconds
    try:
        yield
    finally:
        _lingers[0] = 0.0


@functools.cache  # once: the hook cannot be removed
def end_workers_with_run() -> None:
    """End every process that this one forks from now on, with its process group, when this one dies.

    A thread of the child waits for the parent's death. A signal from the kernel (prctl) has no effect
    until the worker's main thread wakes up, which it does not while it waits for a command's output.
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
        if os.getppid() != run:  # it died meanwhile, and its PID was reused
            os._exit(1)
        threading.Thread(target=_end_with, args=(parent,), name="lifetime", daemon=True).start()

    os.register_at_fork(before=note, after_in_child=watch)


def _end_with(parent: int) -> None:
    select.select([parent], [], [])  # readable once the process has ended
    if os.getsid(0) == os.getpid():  # else the group belongs to the terminal
        os.killpg(0, signal.SIGTERM)
    end = time.monotonic() + _lingers[0]
    while _lingers[0] and time.monotonic() < end:
        time.sleep(0.1)
    os._exit(1)


def identity(pid: int) -> str:
    """Return process ``pid`` of this machine as a text that no other process ever has."""
    return f"{this_machine()}:{pid}:{started(pid)}"


def lives(process: str) -> bool:
    """Say whether ``process``, an `identity`, is a living one of this machine."""
    pid = process.rpartition(":")[0].rpartition(":")[2]
    return pid.isdecimal() and bool(started(int(pid))) and identity(int(pid)) == process


def this_machine() -> str:
    """Return host name, boot id and PID namespace: only processes with the same ones can be compared."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{socket.gethostname()}/{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"


def started(pid: int) -> str:
    """Return a process's start in the kernel's ticks, "" when it is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
