"""Directory trees as tar archives that depend on the tree alone: sorted, numeric owners, no time after ``epoch``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def pack_command(tree: Path, archive: Path, *, epoch: int, exclude: Sequence[str] = ()) -> list[str]:
    """Return the command that packs ``tree`` into ``archive``; ``exclude`` are patterns that begin with ``./``."""
    return [
        "tar", "--create", "--sort=name", "--format=posix", "--numeric-owner", "--one-file-system",
        "--xattrs", "--xattrs-include=security.capability",
        "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime", f"--mtime=@{epoch}", "--clamp-mtime",
        *(f"--exclude={pattern}" for pattern in exclude), "-f", str(archive), "-C", str(tree), ".",
    ]  # fmt: skip
