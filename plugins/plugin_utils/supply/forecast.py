"""Predict a run of supply: what would be built or fetched, how long it takes, how large it is, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...module_utils._base.text import aligned
from ..progress import clock
from .cache.store import ArtifactStore
from .lock.model import Lock
from .lock.recorded import unknown
from .make.progress import seconds_left
from .make.run import expected

_JOBS = os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """One artifact that a run would make."""

    artifact: str
    version: str
    way: str  # "build" or "fetch"
    seconds: float  # as last time, else as the lock says
    size: int | None  # bytes of the last one; None: never made here
    refused: tuple[str, ...]  # addresses without a digest

    def row(self) -> tuple[str, ...]:
        size = "-" if self.size is None else f"{self.size / 2**20:.1f}"
        lacking = f"refused: no digest is recorded for {', '.join(self.refused)}" if self.refused else ""
        return (self.artifact, self.version, self.way, clock(self.seconds), size, lacking)


def forecast(lock: Lock, names: Sequence[str]) -> list[Forecast]:
    """Return what a run would do about ``names``, the missing artifacts of ``lock``, which is that of the source."""
    store, costs = ArtifactStore(), expected(lock, names, jobs=_JOBS)
    found = []
    for name in names:
        entry = lock.artifacts[name]
        fetched = entry.builder == "upstream"
        found.append(
            Forecast(
                artifact=name, version=entry.version, way="fetch" if fetched else "build", seconds=costs[name][1],
                size=store.last_size(name), refused=tuple(unknown(entry)) if fetched else (),
            )
        )  # fmt: skip
    return found


def told(lock: Lock, found: Sequence[Forecast]) -> Iterator[str]:
    """Yield the lines of a prediction: what is refused first, then by time."""
    names = {one.artifact for one in found}
    needs = {name: [need for need in lock.artifacts[name].needs if need in names] for name in names}
    ordered = {name: needs[name] for name in lock.closure(tuple(names)) if name in names}
    seconds = seconds_left(ordered, {one.artifact: one.seconds for one in found}, jobs=_JOBS)
    size = sum(one.size or 0 for one in found) / 2**20
    kinds = [f"{sum(one.way == way for one in found)} to {way}" for way in ("build", "fetch")]
    refused = sum(bool(one.refused) for one in found)
    yield (
        f"[supply] {len(found)} artifacts are missing: {', '.join(kinds)}, about {clock(seconds)}, "
        f"{size:.0f} MiB of those made before" + (f"; {refused} refused" if refused else "")
    )
    rows = [one.row() for one in sorted(found, key=lambda one: (not one.refused, -one.seconds))]
    rows.insert(0, ("artifact", "version", "way", "time", "MiB", ""))
    yield from (f"  {line}" for line in aligned(rows))
