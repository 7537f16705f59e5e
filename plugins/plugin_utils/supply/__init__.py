"""Supply: every artifact of a site, built or fetched as ``supply.lock`` says, kept by content, and served.

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

# Lock and build are imported late: a lookup that a task of every host uses needs neither.
if TYPE_CHECKING:
    from .build.progress import Draw
    from .lock.model import Lock, Source

__all__ = ["Artifact", "ensure", "load_lock", "missing", "tool", "unpacked"]


def load_lock() -> Lock:
    """Return the collection's own lock. Raises GroundupError."""
    from .lock import model

    return model.load_lock()


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
    """Return the artifacts called ``names``, making what the cache lacks.

    Args:
        names: artifact or group names of the lock; None: all.
        progress: called with one line at a time, from several threads, never from two at once.
        draw: writes to a terminal as it is; None: there is none.
        rebuild: make these artifacts again, whatever the cache holds; what they need is not made again.
        source: ``build`` everything from packages, or fetch what is published (``upstream``) and build only the rest.
        lock: another lock than the collection's own.
        jobs: how many artifacts are made at once; default: one per core.

    Raises GroundupError naming the artifact that could not be made, is damaged, or has the wrong digest.
    """
    from .build.run import Run

    lock = (lock or load_lock()).by(source).including(names)
    return Run(lock, progress=progress, draw=draw, jobs=jobs).ensure(lock.select(names), rebuild=rebuild)


def missing(
    names: str | Iterable[str] | None, *, rebuild: bool = False, source: Source = "build", lock: Lock | None = None
) -> tuple[str, ...]:
    """Return what ``ensure`` would have to make for ``names``, needs first; make nothing."""
    from .build.run import Run

    lock = (lock or load_lock()).by(source).including(names)
    chosen = lock.select(names)
    return Run(lock).missing(chosen, again=set(chosen) if rebuild else set())


def unpacked(name: str, *, progress: Progress = no_progress) -> Path:
    """Return the read-only directory of the root file system ``name``: built, and unpacked once per digest."""
    from .cache import unpack

    return unpack.unpacked(ensure(name, progress=progress)[name])


def tool(program: str, *, progress: Progress = no_progress) -> Path:
    """Return the path of an executable of the lock (``helm``, ``kubectl``, ...) for use on the controller.

    ``progress`` is called only when something has to be made.
    """
    lock = load_lock()
    for entry in lock.artifacts.values():
        if program in entry.provides:
            shown = progress if missing(entry.name, lock=lock) else no_progress
            return ensure(entry.name, progress=shown, lock=lock)[entry.name].path / program
    raise GroundupError(
        f"no artifact provides the program {program!r}",
        where="supply.lock",
        why="the controller runs only programs of the lock",
        remedy="name one of: " + ", ".join(p for e in lock.artifacts.values() for p in e.provides),
    )
