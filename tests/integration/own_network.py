"""A network namespace for a test, and what is set up in it."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

_NEWNET = 0x40000000  # CLONE_NEWNET; Python has it from 3.12 on


@contextmanager
def own_network() -> Iterator[None]:
    """Have this thread, and what it starts, in a network of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    assert libc.unshare(_NEWNET) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        assert libc.setns(before, _NEWNET) == 0, os.strerror(ctypes.get_errno())
        os.close(before)


def ip(*commands: str, inside: int | None = None) -> None:
    """Run `ip` commands, in the namespace of process ``inside`` or here."""
    enter = ["nsenter", "--target", str(inside), "--net", "--"] if inside else []
    for command in commands:
        subprocess.run([*enter, "ip", *command.split()], check=True)
