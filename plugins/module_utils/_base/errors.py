"""The collection's errors: what is wrong, where, why it matters, what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

# Faults of the disk itself; the remedy of others (missing permission, file or program) is their own text.
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class GroundupError(Exception):
    """A fault an operator can act on. Its text never holds a secret."""

    def __init__(self, what: str, *, where: str, why: str, remedy: str) -> None:
        """Set the fault with its values; its file, key path, host or object; why it matters; what to do."""
        self.what, self.where, self.why, self.remedy = what, where, why, remedy
        super().__init__(f"{what}\n  where:  {where}\n  why:    {why}\n  remedy: {remedy}")


def file_error(error: OSError, *, host: str) -> GroundupError:
    """Return the error for a file on ``host`` that cannot be read or written."""
    look = "see df -h, df -i and the kernel's messages (dmesg) there" if error.errno in _DISK else "put that right"
    file = error.filename2 or error.filename or "its files"
    if error.errno == errno.EPERM:  # root is refused nothing else on its own disk
        place = file if os.path.lexists(file) else Path(file).parent  # of a new file, its directory refuses
        look = (
            f"lsattr -d {place} there shows whether it is immutable (i) or only grows (a): chattr -i -a {place}, and "
        )
        look += "see who made it so"
    elif error.errno == errno.EBUSY:
        look = f"findmnt {file} there shows what is mounted on it: change that, or take the mount away"
    return GroundupError(
        f"{error.strerror or error}",
        where=f"{host}, {file}",
        why="the file stays as it is, and no later step was done",
        remedy=f"{look}, then run this again",
    )


class OptionError(ValueError):
    """An option lacks a value that the plan provides."""
