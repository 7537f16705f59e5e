"""Remove stale files of killed runs from the cache; the kernel has released the locks of such runs.

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
    """Remove the stale files of killed runs and return them; with ``dry_run`` only return them."""
    found = []
    for path, lock in sorted([*_of_builds(), *_of_trees()]):
        with suppress(TimeoutError), locked(lock, timeout=0):
            if path.exists():  # its run may have ended between the search and the lock
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
