"""Build missing artifacts: dependencies first, longest chain first, on every core; keep finished ones."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from contextlib import closing

from ...errors import GroundupError
from ...graph import Graph, run
from ...paths import cache_dir
from ...progress import Progress, clock, no_progress
from ..cache.artifact import Artifact, payload_name
from ..cache.store import ArtifactStore
from ..errors import DamagedError
from ..lock.model import Entry, Lock
from .builder import builder_of
from .context import BuildContext
from .keys import keys
from .machine import refuse_other
from .process import Commands, Interrupted
from .progress import BuildProgress, Draw


class Run:
    """One run that builds artifacts."""

    def __init__(
        self, lock: Lock, *, progress: Progress = no_progress, draw: Draw | None = None, jobs: int | None = None
    ) -> None:
        """Prepare; nothing is read or built yet. For the arguments see ``supply.ensure``. Raises GroundupError."""
        refuse_other()
        self._lock, self._store, self._show, self._draw = lock, ArtifactStore(), progress, draw
        self._jobs = jobs or os.cpu_count() or 1
        self._stop = threading.Event()
        self._found: dict[str, Artifact] = {}

    def ensure(self, names: tuple[str, ...], *, rebuild: bool = False) -> dict[str, Artifact]:
        """Return the artifacts called ``names``; build what the store lacks, with ``rebuild`` all of ``names``."""
        start, again = time.monotonic(), set(names) if rebuild else set()
        if missing := self.missing(names, again=again):
            self._build(missing, again=again)
        else:
            elapsed = time.monotonic() - start
            self._show(f"[supply] {len(names)} artifacts are in the cache, nothing to build ({elapsed:.1f} s)")
        return {name: self._found[name] for name in names}

    def missing(self, names: tuple[str, ...], *, again: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
        """Return the artifacts to build, dependencies first, without those that only stored artifacts need."""
        self._keys = keys(self._lock, self._lock.closure(names))
        missing: dict[str, None] = {}

        def visit(name: str) -> None:
            entry = self._lock.artifacts[name]
            if name in missing or name in self._found:
                return
            if name not in again and (artifact := self._stored(entry, self._show)) is not None:
                self._found[name] = artifact
                return
            for need in entry.needs:
                visit(need)
            missing[name] = None

        for name in names:
            visit(name)
        return tuple(missing)

    def _stored(self, entry: Entry, show: Progress = no_progress) -> Artifact | None:
        """Return a stored artifact; None when there is none, or ``show`` that it is damaged: it is built again."""
        try:
            return self._store.find(entry, self._keys[entry.name])
        except DamagedError as error:
            show(f"[supply] {error.what}; it is built again")
            return None

    def _build(self, names: tuple[str, ...], *, again: set[str]) -> None:
        entries = {name: self._lock.artifacts[name] for name in names}
        costs = expected(self._lock, names, jobs=self._jobs)
        needs = {name: [need for need in entry.needs if need in entries] for name, entry in entries.items()}
        seconds = {name: wall for name, (_, wall) in costs.items()}
        failures: dict[str, BaseException] = {}

        def ended(name: str, future: Future[Artifact]) -> bool:
            if (error := future.exception()) is not None:
                failures[name] = error
                progress.end(name, "FAILED", done=False)
                return False
            self._found[name] = future.result()
            return True

        shown = BuildProgress(self._show, needs, expected=seconds, jobs=self._jobs, draw=self._draw)
        with closing(shown) as progress:
            run(
                Graph(
                    needs.items(), cost={name: cpu for name, (cpu, _) in costs.items()}, kind="artifact",
                    where="supply.lock",
                ),
                lambda name: self._one(name, progress, again=name in again),
                ended,
                jobs=self._jobs,
                threads="supply",
                stop=self._stop.set,
                tick=progress.tick,
            )  # fmt: skip
        if failures:
            raise _failed(failures)

    def _one(self, name: str, progress: BuildProgress, *, again: bool) -> Artifact:
        entry, key = self._lock.artifacts[name], self._keys[name]
        progress.begin(name, "waiting for another run")
        with self._store.building(name) as place:
            if not again and (artifact := self._stored(entry)) is not None:
                progress.end(name, "another run has made it")
                return artifact
            progress.step(name, f"{entry.version}, begins")
            log = cache_dir() / "logs/supply" / f"{name}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(b"")
            start, commands = time.monotonic(), Commands(log, self._stop)
            output, scratch = place / payload_name(entry.kind), place / "scratch"
            scratch.mkdir()
            if entry.kind == "files":
                output.mkdir()
            context = BuildContext(
                lock=self._lock, output=output, scratch=scratch, commands=commands,
                needs={need: self._found[need] for need in entry.needs}, say=lambda what: progress.step(name, what),
            )  # fmt: skip
            builder_of(entry).build(entry, context)
            from .bill import document  # imported late: slow, and a run that builds nothing does not need it

            sbom = document(entry, context.components, epoch=self._lock.pins.epoch)
            (place / "sbom.json").write_bytes(sbom)
            context.run(["rm", "-rf", "--one-file-system", scratch])
            artifact = self._store.keep(
                entry, key, place, cpu_seconds=commands.cpu_seconds(), wall_seconds=time.monotonic() - start
            )
            progress.end(name, f"done in {clock(time.monotonic() - start)}, {commands.cpu_seconds():.0f} CPU-s")
            return artifact


def expected(lock: Lock, names: Sequence[str], *, jobs: int) -> dict[str, tuple[float, float]]:
    """Return CPU seconds and seconds that each of ``names`` takes: as last time, else by the lock, on its share."""
    store, cores = ArtifactStore(), max(1.0, jobs / len(names)) if names else 1.0
    return {
        name: store.last_cost(name) or (lock.artifacts[name].cost, lock.artifacts[name].cost / cores) for name in names
    }


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
