"""What is said of files that cannot be read or written: a full or read-only disk is no fault of what needed it."""

from __future__ import annotations


def said(error: OSError, *, host: str) -> str:
    """Return what is wrong with files of ``host``, where, why it matters and what to do, a line each."""
    return (
        f"{error.strerror or error}\n"
        f"  where:  {host}, {error.filename or 'its files'}\n"
        "  why:    what is there stays as it is, and nothing that comes after was done\n"
        "  remedy: see df -h, df -i and the kernel's messages (dmesg) there, then run this again"
    )
