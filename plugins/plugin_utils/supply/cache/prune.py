"""Room in the cache: artifacts, unpacked roots, served files that the lock does not name and nothing used for a while.

Kept are: what the lock names, built or published; what any clone used in the last days (`Store.find` and `unpacked`
touch a mark); and every root that something is mounted on or that a host of a lab of this user was made from. What runs
that were killed left goes at once (``stale.py``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ....module_utils._base.locks import locked
from ...errors import GroundupError
from ...paths import state_dir
from ...progress import Progress
from ..lock.keys import keys
from ..lock.model import Lock
from ..publish.serve import LAID_OUT, served
from .stale import remove_stale
from .store import MARK, ArtifactStore, remove_tree
from .unpack import home, mark, unpacked_name

_MEBI = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was removed, or would be: its name below the cache, bytes of its files, when it was last used."""

    name: str
    bytes: int
    used: float  # seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A directory of the cache that may go, the mark of its last use, and the lock of who changes it."""

    path: Path
    mark: Path
    lock: Path

    def used(self) -> float:
        """Return when it was last used; without a mark: when it came to be where it is; infinity when it is gone."""
        with suppress(FileNotFoundError):
            made = self.path.stat().st_ctime
            return self.mark.stat().st_mtime if self.mark.exists() else made
        return math.inf


def prune(lock: Lock, *, days: int, progress: Progress, dry_run: bool = False) -> tuple[Removed, ...]:
    """Remove what may go (see above), with ``dry_run`` nothing; say what, and how many bytes.

    Args:
        days: what was used in that many days stays; at least 1, so that nothing in use now is taken away.
    """
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
            if (used := place.used()) > oldest:  # somebody asked for it, or took it away, while this one waited
                continue
            name = _name(place.path)
            found = Removed(name=name, bytes=_bytes(place.path), used=used)
            last = datetime.fromtimestamp(found.used, UTC).date()
            progress(f"[prune] {verb} {name}: {found.bytes / _MEBI:.1f} MiB, last used {last}")
            if not dry_run:
                _remove(place)
            done.append(found)
    total = sum(each.bytes for each in done)
    said = "would be removed" if dry_run else "removed"
    progress(
        f"[prune] {len(done)} of {len(places)} unnamed directories {said}: {total} bytes ({total / _MEBI:.1f} MiB)"
    )
    return tuple(done)


def _artifacts(store: ArtifactStore, named: set[tuple[str, str]]) -> Iterator[_Place]:
    for path in sorted(manifest.parent for manifest in store.root.glob("*/[!.]*/manifest.json")):
        if (path.parent.name, path.name) not in named:
            yield _Place(path=path, mark=path / MARK, lock=path.parent / ".lock")


def _roots(store: ArtifactStore, named: set[tuple[str, str]]) -> Iterator[_Place]:
    kept = {unpacked_name(name, found.sha256) for name, key in named if (found := store.manifest(name, key))}
    kept |= {image.readlink().name for image in state_dir("any").parent.glob("*/lab/*/image") if image.is_symlink()}
    mounts = _mounts()
    for path in sorted(home().glob("[!.]*")):
        if path.name not in kept and str(path) not in mounts:
            yield _Place(path=path, mark=mark(path), lock=home() / f".{path.name.rpartition('-')[0]}.lock")


def _served(lock: Lock) -> Iterator[_Place]:
    """Yield what is laid out for seeds in versions the lock does not name: links, which keep an artifact's bytes."""
    named = {(entry.name, entry.version) for entry in lock.artifacts.values()}
    for path in sorted(laid_out.parent for laid_out in served().glob("*/[!.]*/" + LAID_OUT)):
        if (path.parent.name, path.name) not in named:
            yield _Place(path=path, mark=path / LAID_OUT, lock=served() / ".lock")


def _mounts() -> str:
    """Return the mount tables of all processes: builds have mount namespaces of their own."""
    found = set()
    for table in Path("/proc").glob("[0-9]*/mountinfo"):
        with suppress(OSError):  # the process has ended
            found.add(table.read_text(encoding="utf-8"))
    return "".join(found)


def _remove(place: _Place) -> None:
    """Take it away in one step, then remove it; a killed prune leaves what the next build of that name removes."""
    going = place.path.with_name(f".old-{place.path.name}")
    place.path.rename(going)
    place.mark.unlink(missing_ok=True)
    remove_tree(going)


def _name(path: Path) -> str:
    return path.relative_to(home().parent).as_posix()


def _bytes(tree: Path) -> int:
    return sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
