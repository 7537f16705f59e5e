"""Errors that several parts of supply raise."""

from __future__ import annotations

from pathlib import Path

from ..errors import GroundupError
from .lock.model import Entry


class DamagedError(GroundupError):
    """An artifact in the cache is not what was stored."""


def damaged(name: str, path: Path, what: str = "its content is not what was stored") -> DamagedError:
    """Return the error for a damaged artifact in the cache."""
    return DamagedError(
        f"artifact {name} in the cache is damaged: {what}",
        where=str(path),
        why="a changed artifact would reach every host of the site",
        remedy=f"ci/supply build --rebuild {name}",
    )


def not_locked(entry: Entry, what: str, *, locked: str | None, key: str) -> GroundupError:
    """Return the error for content that differs from the lock. ``key`` is the lock's key below the entry."""
    return GroundupError(
        f"artifact {entry.name} {entry.version}: {what}, the lock says {locked}",
        where=f"supply.lock: artifacts.{entry.name}.{key}",
        why="it is not what was locked, or the lock is out of date",
        remedy="find out what changed; when it is meant, record the new digest in the lock",
    )
