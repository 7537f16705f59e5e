"""Supply: every artifact of a site, built or fetched as ``supply.lock`` says, kept by content, and served.

    lock = load_lock()
    artifacts = ensure(["kubernetes", "images-kubernetes"], progress=print)
    root = unpacked("rootfs-host")
    helm = tool("helm")
    publish_images("10.90.0.2:5000", None, progress=print)
    file_tree(Path("/srv/files"), None)

The command line is ``python -m ...plugin_utils.supply`` (``__main__.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import GroundupError
from .build.progress import Progress, silent
from .build.run import Run
from .cache.artifact import Artifact
from .cache.store import Store
from .cache.unpack import unpacked as _unpacked
from .lock.model import Entry, Lock, Source, load_lock
from .publish.record import Record
from .publish.serve import Published, file_tree, lay_out, publish_images, push

__all__ = [
    "Artifact", "Entry", "Lock", "Published", "Record", "Store", "ensure", "file_tree", "lay_out", "load_lock",
    "missing", "publish_images", "push", "tool", "unpacked",
]  # fmt: skip


def ensure(
    names: str | Sequence[str] | None,
    *,
    progress: Progress,
    rebuild: bool = False,
    source: Source = "build",
    lock: Lock | None = None,
    jobs: int | None = None,
) -> dict[str, Artifact]:
    """Return the artifacts called ``names`` (artifacts or groups; None: all), making what the cache lacks.

    Args:
        names: artifact or group names of the lock.
        progress: called with one line at a time, from several threads, never from two at once.
        rebuild: make these artifacts again, whatever the cache holds; what they need is not made again.
        source: ``build`` everything from packages, or fetch what is published (``upstream``) and build only the rest.
        lock: another lock than the collection's own.
        jobs: how many artifacts are made at once; default: one per core.

    Raises GroundupError naming the artifact that could not be made, is damaged, or has the wrong digest.
    """
    lock = (lock or load_lock()).by(source)
    chosen = lock.select(names if names is None or isinstance(names, str) else list(names))
    return Run(lock, Store(), progress=progress, jobs=jobs).ensure(chosen, rebuild=rebuild)


def missing(
    names: str | Sequence[str] | None, *, rebuild: bool = False, source: Source = "build", lock: Lock | None = None
) -> tuple[str, ...]:
    """Return what ``ensure`` would have to make for ``names``, needs first; it makes nothing itself."""
    lock = (lock or load_lock()).by(source)
    chosen = lock.select(names if names is None or isinstance(names, str) else list(names))
    return Run(lock, Store(), progress=silent, jobs=None).missing(chosen, again=set(chosen) if rebuild else set())


def unpacked(name: str, *, progress: Progress = silent) -> Path:
    """Return the read-only directory of the root file system ``name``: built, and unpacked once per digest."""
    return _unpacked(ensure(name, progress=progress)[name])


def tool(program: str, *, progress: Progress = silent) -> Path:
    """Return the path of an executable of the lock (``helm``, ``kubectl``, ...) for use on the controller.

    ``progress`` hears of it only when something has to be made for it.
    """
    lock = load_lock()
    for entry in lock.artifacts.values():
        if program in entry.provides:
            said = progress if missing(entry.name, lock=lock) else silent
            return ensure(entry.name, progress=said, lock=lock)[entry.name].path / program
    raise GroundupError(
        f"no artifact provides the program {program!r}",
        where="supply.lock",
        why="the controller runs only programs of the lock",
        remedy="name one of: " + ", ".join(p for e in lock.artifacts.values() for p in e.provides),
    )
