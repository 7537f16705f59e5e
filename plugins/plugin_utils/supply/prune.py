"""Prune the cache: remove unused artifacts, unpacked roots and served files that the lock does not name.

Kept are: artifacts in the lock, built or published; those that any clone used in the last days (`ArtifactStore.find`
and `unpacked` touch a mark); roots that are mounted or that a lab host of this user was created from. Stale files of
killed runs are removed at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ...module_utils._base.locks import locked
from ..errors import GroundupError
from ..paths import cache_dir, state_dir
from ..progress import Progress
from .cache.served import LAID_OUT, served
from .cache.store import MARK, ArtifactStore, remove_tree
from .cache.unpack import home, mark, unpacked_name
from .lock.model import Lock
from .make.keys import keys

_MEBI = 2**20


class Removed(NamedTuple):
    """A directory that was removed, or would be in a dry run."""

    name: str  # below the cache
    bytes: int  # of its files
    used: float  # seconds since 1970: the last time


class _Place(NamedTuple):
    """A removable directory of the cache, the mark of its last use, and the lock that guards changes."""

    path: Path
    mark: Path
    lock: Path

    def used(self) -> float:
        """Return the time of the last use; without a mark, of creation; infinity when it is gone."""
        with suppress(FileNotFoundError):
            made = self.path.stat().st_ctime
            return self.mark.stat().st_mtime if self.mark.exists() else made
        return math.inf


def prune(lock: Lock, *, days: int, progress: Progress, dry_run: bool = False) -> tuple[Removed, ...]:
    """Remove directories not used for ``days``, at least 1; with ``dry_run`` only list them with their bytes."""
    if days < 1:
        raise GroundupError(
            f"--days {days} is less than 1",
            where="supply prune",
            why="another run on this machine may be using what it found a minute ago",
            remedy="give 1 or more days",
        )
    store, oldest = ArtifactStore(), time.time() - days * 86400
    named: set[tuple[str, str]] = set()
    for each in (lock, lock.by("upstream")):
        named |= keys(each, each.closure(tuple(each.artifacts))).items()
    verb = "would remove" if dry_run else "removing"
    for path in remove_stale(dry_run=dry_run):
        progress(f"[prune] {verb} {_name(path)}: left by a run that was killed")
    places = [*_artifacts(store, named), *_roots(store, named), *_served(lock)]
    done: list[Removed] = []
    for place in places:
        if place.used() > oldest:
            continue
        with locked(place.lock):
            if (used := place.used()) > oldest:  # used or removed by another run while this one waited
                continue
            found = Removed(_name(place.path), _bytes(place.path), used)
            last = datetime.fromtimestamp(used, UTC).date()
            progress(f"[prune] {verb} {found.name}: {found.bytes / _MEBI:.1f} MiB, last used {last}")
            if not dry_run:
                _remove(place)
            done.append(found)
    total, how = sum(each.bytes for each in done), "would be removed" if dry_run else "removed"
    progress(f"[prune] {len(done)} of {len(places)} unnamed directories {how}: {total} bytes ({total / _MEBI:.1f} MiB)")
    return tuple(done)


def _artifacts(store: ArtifactStore, named: set[tuple[str, str]]) -> Iterator[_Place]:
    for path in sorted(manifest.parent for manifest in store.root.glob("*/[!.]*/manifest.json")):
        if (path.parent.name, path.name) not in named:
            yield _Place(path, path / MARK, path.parent / ".lock")


def _roots(store: ArtifactStore, named: set[tuple[str, str]]) -> Iterator[_Place]:
    kept = {unpacked_name(name, found.sha256) for name, key in named if (found := store.manifest(name, key))}
    kept |= {image.readlink().name for image in state_dir("any").parent.glob("*/lab/*/image") if image.is_symlink()}
    mounts = _mounts()
    for path in sorted(home().glob("[!.]*")):
        if path.name not in kept and str(path) not in mounts:
            yield _Place(path, mark(path), home() / f".{path.name.rpartition('-')[0]}.lock")


def _served(lock: Lock) -> Iterator[_Place]:
    """Yield served files of versions not in the lock: hard links, which keep an artifact's disk space in use."""
    named = {(entry.family, entry.version) for entry in lock.artifacts.values()}
    for path in sorted(laid_out.parent for laid_out in served().glob("*/[!.]*/" + LAID_OUT)):
        if (path.parent.name, path.name) not in named:
            yield _Place(path, path / LAID_OUT, served() / ".lock")


def _mounts() -> str:
    """Return the mount tables of all processes: builds have mount namespaces of their own."""
    found = set()
    for table in Path("/proc").glob("[0-9]*/mountinfo"):
        with suppress(OSError):  # the process has ended
            found.add(table.read_text(encoding="utf-8"))
    return "".join(found)


def _remove(place: _Place) -> None:
    """Rename it in one step, then remove it; the next build of that name removes the remains of a killed prune."""
    going = place.path.with_name(f".old-{place.path.name}")
    place.path.rename(going)
    place.mark.unlink(missing_ok=True)
    remove_tree(going)


def _name(path: Path) -> str:
    return path.relative_to(home().parent).as_posix()


def _bytes(tree: Path) -> int:
    return sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())


def remove_stale(*, dry_run: bool = False) -> tuple[Path, ...]:
    """Remove the stale files of killed runs and return them; with ``dry_run`` only return them.

    Build directories and half-removed artifacts (``artifacts/<name>/.building-*``, ``.old-*``, behind the artifact's
    lock), half-unpacked or half-removed trees (``unpacked/.<name>-*.partial``, ``unpacked/.old-*``,
    ``served/*/.old-*``). The kernel has released the locks of killed runs.
    """
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
