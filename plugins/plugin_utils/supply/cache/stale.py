"""What killed runs leave in the cache, told by its lock from what a live run uses: the kernel lets go of a dead one's.

Three things can be left: archives on their way to a seed (``publish-*.tar``, each locked by who sends it), build
directories and half-removed artifacts (``artifacts/<name>/.building-*``, ``.old-*``, behind the artifact's lock), and
half-unpacked or half-removed trees (``unpacked/.<name>-*.partial``, ``unpacked/.old-*``, ``served/*/.old-*``).
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...paths import cache_dir
from ..publish.serve import served
from .store import remove_tree
from .unpack import home

_ARCHIVES = "publish-*.tar"


@contextmanager
def temporary_archive() -> Iterator[Path]:
    """Give an empty file in the cache, gone at the end of the block; `remove_archives` removes those of killed runs."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    prefix, suffix = _ARCHIVES.split("*")
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=cache_dir())
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink == 0:  # somebody cleared it before it was locked
                continue
            try:
                yield Path(name)
            finally:
                Path(name).unlink()
            return
        finally:
            os.close(handle)


def remove_archives(*, dry_run: bool = False) -> tuple[Path, ...]:
    """Remove archives of runs that are dead and return them, with ``dry_run`` return them only."""
    found = []
    for path in sorted(cache_dir().glob(_ARCHIVES)):
        with _taken(path, make=False) as dead:
            if dead:
                found.append(path)
                if not dry_run:
                    path.unlink()
    return tuple(found)


def remove_stale(*, dry_run: bool = False) -> tuple[Path, ...]:
    """Remove everything that dead runs left in the cache and return it, with ``dry_run`` return it only."""
    found = list(remove_archives(dry_run=dry_run))
    for path, lock in sorted([*_of_builds(), *_of_trees()]):
        with _taken(lock, make=True) as dead:
            if dead and path.exists():  # its run may have ended between the look and the lock
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


@contextmanager
def _taken(path: Path, *, make: bool) -> Iterator[bool]:
    """Take the lock on the file ``path`` for the block, and say whether nobody else holds it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if make else 0), 0o600)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield os.fstat(handle).st_nlink > 0
    finally:
        os.close(handle)
