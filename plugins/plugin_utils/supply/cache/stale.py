"""Stale files: what killed runs leave in the cache, known by their locks, which the kernel has released.

Build directories and half-removed artifacts (``artifacts/<name>/.building-*``, ``.old-*``, behind the artifact's lock),
half-unpacked or half-removed trees (``unpacked/.<name>-*.partial``, ``unpacked/.old-*``, ``served/*/.old-*``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ....module_utils._base.locks import locked
from ...paths import cache_dir
from .served import served
from .store import remove_tree
from .unpack import home


def remove_stale(*, dry_run: bool = False) -> tuple[Path, ...]:
    """Remove everything that dead runs left in the cache and return it, with ``dry_run`` return it only."""
    found = []
    for path, lock in sorted([*_of_builds(), *_of_trees()]):
        with suppress(TimeoutError), locked(lock, timeout=0):
            if path.exists():  # its run may have ended between the look and the lock
                found.append(path)
                if not dry_run:
                    remove_tree(path)
    return tuple(found)


def _of_builds() -> Iterator[tuple[Path, Path]]:
    for pattern in ("*/.building-*", "*/.old-*"):
        for path in (cache_dir() / "artifacts").glob(pattern):
            yield path, path.parent / ".lock"


def _of_trees() -> Iterator[tuple[Path, Path]]:
    for pattern in (".*.partial", ".old-*"):
        for path in home().glob(pattern):
            name = path.name.removeprefix(".").removeprefix("old-").rpartition("-")[0]
            yield path, home() / f".{name}.lock"
    for path in served().glob("*/.old-*"):
        yield path, served() / ".lock"
