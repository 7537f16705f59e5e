"""File locks, released by the kernel when the process that holds them ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .wait import wait_until


@contextmanager
def locked(path: Path, *, directory: bool = False, timeout: float | None = None) -> Iterator[int]:
    """Hold an exclusive lock on ``path`` and yield its handle; a program that inherits the handle also holds the lock.

    A missing ``path`` is created: a file, or a directory with ``directory``, which the holder of the lock may remove.
    Raises TimeoutError after ``timeout`` seconds; without ``timeout``, it waits forever.
    """
    while (handle := _hold(path, directory, timeout)) is None:
        pass
    try:
        yield handle
    finally:
        os.close(handle)


def _hold(path: Path, directory: bool, timeout: float | None) -> int | None:
    """Return the locked handle; None when the former holder removed ``path``: the caller must try again."""
    (path if directory else path.parent).mkdir(mode=0o700 if directory else 0o755, parents=True, exist_ok=True)
    flags = os.O_RDONLY | os.O_DIRECTORY if directory else os.O_RDWR | os.O_CREAT
    with suppress(FileNotFoundError):
        handle = os.open(path, flags | os.O_CLOEXEC, 0o600)
        try:
            _lock(handle, timeout)
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    return None


def _lock(handle: int, timeout: float | None) -> None:
    if timeout is None:
        fcntl.flock(handle, fcntl.LOCK_EX)
    elif wait_until(lambda: _taken(handle), timeout=timeout, pause=0.3):
        raise TimeoutError("another process holds the lock")


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
