"""Supply: build or fetch every artifact of a site by ``supply.lock``, cache it by content, and serve it.

    artifacts = ensure(["kubernetes", "images-kubernetes"], progress=print)
    root = unpacked("rootfs-host")
    helm = tool("helm")

The command line is ``python -m ...plugin_utils.supply`` (``__main__.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import GroundupError
from ..progress import Progress, no_progress
from .cache.artifact import Artifact

# Lock and build are imported late: a lookup used in tasks of every host needs neither.
if TYPE_CHECKING:
    from .lock.model import Lock, Source
    from .make.progress import Draw

__all__ = ["Artifact", "ensure", "load_lock", "missing", "tool", "unpacked"]


def load_lock(site: str | None = None) -> Lock:
    """Return the collection's own lock, with what ``site`` recorded where it has no digest. Raises GroundupError."""
    from .lock import model, recorded

    lock = model.load_lock()
    return recorded.with_recorded(lock, recorded.load(site)) if site else lock


def ensure(
    names: str | Iterable[str] | None,
    *,
    progress: Progress = no_progress,
    draw: Draw | None = None,
    rebuild: bool = False,
    source: Source = "build",
    lock: Lock | None = None,
    jobs: int | None = None,
) -> dict[str, Artifact]:
    """Return the artifacts or groups ``names`` (None: all), building or fetching what the cache lacks.

    ``progress`` is called with a line, from several threads, never from two at once. ``draw`` writes to a terminal;
    None: there is none. ``rebuild``: also what is cached, but not what it needs. ``source``: ``upstream`` fetches
    published artifacts and builds only the rest. ``lock``: instead of the collection's own. ``jobs``: default is one
    per core.

    Names a damaged artifact and builds it again.

    Raises GroundupError naming the artifact that failed to build or has the wrong digest.
    """
    from .make.run import Run

    lock = (lock or load_lock()).by(source).including(names)
    return Run(lock, progress=progress, draw=draw, jobs=jobs).ensure(lock.select(names), rebuild=rebuild)


def missing(
    names: str | Iterable[str] | None, *, rebuild: bool = False, source: Source = "build", lock: Lock | None = None
) -> tuple[str, ...]:
    """Return the artifacts ``ensure`` would have to build or fetch for ``names``, dependencies first; build nothing."""
    from .make.run import Run

    lock = (lock or load_lock()).by(source).including(names)
    chosen = lock.select(names)
    return Run(lock).missing(chosen, again=set(chosen) if rebuild else set())


def unpacked(name: str, *, progress: Progress = no_progress) -> Path:
    """Return the read-only directory of the root file system ``name``; build it, and unpack it once per digest."""
    from .cache import unpack

    return unpack.unpacked(ensure(name, progress=progress)[name])


def tool(program: str, *, progress: Progress = no_progress) -> Path:
    """Return the path of an executable of the lock (``helm``, ``kubectl``, ...) for use on the control node.

    ``progress`` is called only when something has to be built.
    """
    lock = load_lock()
    for entry in lock.artifacts.values():
        if program in entry.provides:
            shown = progress if missing(entry.name, lock=lock) else no_progress
            return ensure(entry.name, progress=shown, lock=lock)[entry.name].path / program
    raise GroundupError(
        f"no artifact provides the program {program!r}",
        where="supply.lock",
        why="the control node runs only programs of the lock",
        remedy="name one of: " + ", ".join(p for e in lock.artifacts.values() for p in e.provides),
    )
