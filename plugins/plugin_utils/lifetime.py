"""The workers of a run end with it, however it ends.

Ansible gives each worker a session of its own: a worker of a killed run would work on beside the next run, and then
wait for ever for somebody to read its result.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import threading

_PR_SET_PDEATHSIG = 1  # prctl(2); Linux


@functools.cache  # once: such a hook cannot be taken back
def end_workers_with_run() -> None:
    """Have the kernel send SIGTERM to every process this one forks from now on, when this one dies.

    A worker of Ansible passes it on to its whole process group. Ends the child at once when its parent died before that
    was arranged. Raises OSError, in the child, when the kernel refuses.
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    forking: list[int] = []

    def note() -> None:
        # The kernel means the thread that forked. Ansible forks in its main one, which ends with the process.
        forking[:] = [os.getpid()] if threading.current_thread() is threading.main_thread() else []

    def bind() -> None:
        if not forking:
            return
        if prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), "prctl")
        if os.getppid() != forking[0]:
            os._exit(1)

    os.register_at_fork(before=note, after_in_child=bind)
