"""What is said of files that cannot be read or written: a full or read-only disk is no fault of what needed it."""

from __future__ import annotations

import errno

# What a disk says; anything else (a right, a file or program that is not there) is told as it is.
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


def said(error: OSError, *, host: str) -> str:
    """Return what is wrong with files of ``host``, where, why it matters and what to do, a line each."""
    look = "see df -h, df -i and the kernel's messages (dmesg) there" if error.errno in _DISK else "put that right"
    return (
        f"{error.strerror or error}\n"
        f"  where:  {host}, {error.filename or 'its files'}\n"
        "  why:    what is there stays as it is, and nothing that comes after was done\n"
        f"  remedy: {look}, then run this again"
    )
