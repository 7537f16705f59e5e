"""Building what is missing: needs first, the longest chain first, both cores busy, finished work kept."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from pathlib import Path

from ...errors import GroundupError
from ...graph import Graph, run
from ...paths import cache_dir
from ..builders import builder_of
from ..cache.artifact import Artifact, payload_name
from ..cache.store import Store
from ..lock.keys import keys
from ..lock.model import Entry, Lock
from .context import Context
from .process import Interrupted, Meter
from .progress import Counter, Progress, clock


class Run:
    """One call of ``ensure``."""

    def __init__(self, lock: Lock, store: Store, *, progress: Progress, jobs: int | None) -> None:
        """Prepare; nothing is read or built yet."""
        self._lock, self._store, self._progress = lock, store, progress
        self._jobs = jobs or os.cpu_count() or 1
        self._stop = threading.Event()
        self._found: dict[str, Artifact] = {}

    def ensure(self, names: tuple[str, ...], *, rebuild: bool = False) -> dict[str, Artifact]:
        """Return the artifacts called ``names``, building what the store lacks; ``rebuild``: these in any case."""
        start, again = time.monotonic(), set(names) if rebuild else set()
        missing = self.missing(names, again=again)
        if missing:
            self._build(missing, again=again)
        else:
            elapsed = time.monotonic() - start
            self._progress(f"[supply] {len(names)} artifacts are in the cache, nothing to build ({elapsed:.1f} s)")
        return {name: self._found[name] for name in names}

    def missing(self, names: tuple[str, ...], *, again: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
        """Return what must be built, needs first: what is needed only by a stored artifact stays away."""
        self._keys = keys(self._lock, self._lock.closure(names))
        missing: dict[str, None] = {}
        seen: set[str] = set()

        def visit(name: str) -> None:
            if name in seen:
                return
            seen.add(name)
            artifact = None if name in again else self._store.find(self._lock.artifacts[name], self._keys[name])
            if artifact is not None:
                self._found[name] = artifact
                return
            for need in self._needs(name):
                visit(need)
            missing[name] = None

        for name in names:
            visit(name)
        return tuple(missing)

    def _needs(self, name: str) -> tuple[str, ...]:
        return self._lock.artifacts[name].needs

    def _build(self, names: tuple[str, ...], *, again: set[str]) -> None:
        counter = Counter(self._progress, total=len(names))
        failures: dict[str, BaseException] = {}

        def ended(name: str, future: Future[Artifact]) -> bool:
            if (error := future.exception()) is not None:
                failures[name] = error
                counter.step(name, "FAILED")
                return False
            self._found[name] = future.result()
            return True

        run(
            Graph(
                ((name, [need for need in self._needs(name) if need in names]) for name in names),
                cost={name: self._store.last_cost(name) or self._lock.artifacts[name].cost for name in names},
                kind="artifact",
                where="supply.lock",
            ),
            lambda name: self._one(name, counter, name in again),
            ended,
            jobs=self._jobs,
            threads="supply",
            stop=self._stop.set,
        )
        if failures:
            raise _failed(failures)

    def _one(self, name: str, counter: Counter, again: bool) -> Artifact:
        entry, key = self._lock.artifacts[name], self._keys[name]
        with self._store.building(name) as place:
            if not again and (artifact := self._store.find(entry, key)) is not None:
                counter.done(name, "another run has made it")
                return artifact
            start, meter = time.monotonic(), Meter()
            counter.step(name, f"{entry.version}, begins")
            context = self._context(entry, place, meter, counter)
            builder_of(entry).build(entry, context)
            from .bill import document  # late: a run that builds nothing does not pay for it

            sbom = document(entry, context.components, epoch=self._lock.pins.epoch)
            (place / "sbom.json").write_bytes(sbom)
            context.run(["rm", "-rf", "--one-file-system", context.scratch])
            artifact = self._store.keep(
                entry, key, place, cpu_seconds=meter.seconds(), wall_seconds=time.monotonic() - start
            )
            counter.done(name, f"done in {clock(time.monotonic() - start)}, {meter.seconds():.0f} CPU-s")
            return artifact

    def _context(self, entry: Entry, place: Path, meter: Meter, counter: Counter) -> Context:
        output, scratch = place / payload_name(entry.kind), place / "scratch"
        scratch.mkdir()
        if entry.kind == "files":
            output.mkdir()
        log = cache_dir() / "logs/supply" / f"{entry.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")
        return Context(
            lock=self._lock, output=output, scratch=scratch, log=log, meter=meter, stop=self._stop,
            needs={need: self._found[need] for need in self._needs(entry.name)},
            say=lambda what: counter.step(entry.name, what),
        )  # fmt: skip


def _failed(failures: dict[str, BaseException]) -> BaseException:
    for error in failures.values():
        if not isinstance(error, GroundupError | Interrupted):
            return error
    if len(failures) == 1:
        return next(iter(failures.values()))
    listed = "\n".join(f"{name}: {error}" for name, error in failures.items())
    return GroundupError(
        f"{len(failures)} artifacts could not be made:\n{listed}",
        where=", ".join(failures),
        why="they, and everything that needs them, are missing",
        remedy="see each one above; finished artifacts are kept",
    )
