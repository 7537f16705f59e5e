"""A file replaced whole, in one step: whoever is killed while writing leaves the old one as it was."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def write(
    path: Path,
    data: bytes,
    *,
    mode: int,
    valid: Callable[[Path], object] | None = None,
    before: Callable[[], object] | None = None,
) -> None:
    """Replace ``path`` by ``data`` with ``mode``.

    Args:
        path: the file; its directory exists.
        data: all of its new content.
        mode: its permissions, from the first byte on.
        valid: is given the new file before it replaces the old one, and raises when it is no good.
        before: is called just before the replacement.

    Raises:
        OSError: it cannot be written.
    """
    temporary = beside(path, data, mode=mode)
    try:
        if valid:
            valid(temporary)
        if before:
            before()
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def beside(path: Path, data: bytes, *, mode: int) -> Path:
    """Write ``data`` to a new file in the directory of ``path`` and return that file. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
