"""Writing files on the controller so that a killed run never leaves half of one."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, mode: int) -> None:
    """Replace ``path`` by ``data`` with ``mode`` in one step. Raises OSError."""
    temporary = _beside(path, data, mode)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink()
        raise


def write_new(path: Path, data: bytes, *, mode: int) -> bool:
    """Write ``path`` only if it does not exist, whole or not at all; return whether it was written now."""
    temporary = _beside(path, data, mode)
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


def _beside(path: Path, data: bytes, mode: int) -> Path:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "wb") as stream:
        os.fchmod(stream.fileno(), mode)
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    return Path(name)
