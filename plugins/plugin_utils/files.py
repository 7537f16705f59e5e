"""Writing files on the controller so that a killed run never leaves half of one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..module_utils._atomic import beside
from ..module_utils._atomic import write as write_atomic

__all__ = ["locked", "write_atomic", "write_new"]


def write_new(path: Path, data: bytes, *, mode: int) -> bool:
    """Write ``path`` only if it does not exist, whole or not at all; return whether it was written now."""
    temporary = beside(path, data, mode=mode)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file ``path``, which is made when missing; a dead holder lets go by itself."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
