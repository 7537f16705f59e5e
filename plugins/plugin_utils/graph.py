"""Run interdependent work (releases, artifacts) in threads: dependencies first, the longest chain first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from .errors import GroundupError

_TICK = 1.0  # seconds between two calls of ``tick`` while work is under way
_Result = TypeVar("_Result")


class GraphError(GroundupError):
    """A graph that can never finish: a duplicate name, an unknown need, a cycle."""


class Graph:
    """Dependencies between names, and which may start now.

    ``needs``: each name with the names it needs. ``cost``: a name's weight in the longest chain (default 1). ``kind``
    and ``where``: for errors, what the names are and where they come from. Raises GraphError.
    """

    def __init__(
        self,
        needs: Iterable[tuple[str, Iterable[str]]],
        *,
        cost: Mapping[str, float] | None = None,
        kind: str,
        where: str,
    ) -> None:
        self._kind, self._where = kind, where
        self._needs: dict[str, tuple[str, ...]] = {}
        for name, needed in needs:
            if name in self._needs:
                raise self._error(f"{name} is there twice", "a name stands for one of them", "rename one")
            self._needs[name] = tuple(needed)
        self._followers: dict[str, list[str]] = {name: [] for name in self._needs}
        for name, needed in self._needs.items():
            for need in needed:
                if need not in self._needs:
                    raise self._error(
                        f"{name} needs {need}, which is not there",
                        "it could never start",
                        f"add {need}, or drop {name}",
                    )
                self._followers[need].append(name)
        try:
            order = tuple(TopologicalSorter(self._needs).static_order())
        except CycleError as error:
            circle = " > ".join(reversed(error.args[1]))
            raise self._error(
                f"circle: {circle} need each other", "none of them could ever start", "remove one of the needs"
            ) from error
        self._chain: dict[str, float] = {}  # name -> cost of the longest chain that begins with it
        for name in reversed(order):
            behind = max((self._chain[follower] for follower in self._followers[name]), default=0.0)
            self._chain[name] = (cost or {}).get(name, 1.0) + behind
        self._sorter = TopologicalSorter(self._needs)
        self._sorter.prepare()
        self._lost: set[str] = set()

    def ready(self) -> list[str]:
        """Return the names that may start now and were not returned before, most urgent first."""
        return self.by_urgency(self._sorter.get_ready())

    def by_urgency(self, names: Iterable[str]) -> list[str]:
        """Return ``names`` by length of their chain, longest first."""
        return sorted(names, key=lambda name: (-self._chain[name], name))

    def longest(self) -> tuple[str, ...]:
        """Return the longest chain, from its beginning."""
        chain: list[str] = []
        names = [name for name, needed in self._needs.items() if not needed]
        while names:
            chain.append(self.by_urgency(names)[0])
            names = self._followers[chain[-1]]
        return tuple(chain)

    def done(self, name: str) -> None:
        """Mark ``name`` as done: names that waited only for it become ready."""
        self._sorter.done(name)

    def lost(self, name: str) -> tuple[str, ...]:
        """Mark ``name`` as failed. Return the names that cannot start because of it and were not lost before."""
        dependants = tuple(sorted(self.dependants(name) - self._lost))
        self._lost.update(dependants)
        return dependants

    def dependants(self, name: str) -> set[str]:
        """Return all names that need ``name``, directly or indirectly."""
        return set(_reach(name, self._followers))

    def needs(self, name: str) -> tuple[str, ...]:
        """Return all names that ``name`` needs, directly or indirectly, nearest first."""
        return _reach(name, self._needs)

    def _error(self, what: str, why: str, remedy: str) -> GraphError:
        return GraphError(f"{self._kind} {what}", where=self._where, why=why, remedy=remedy)


def one_by_one(needs: Iterable[tuple[str, Iterable[str]]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return ``needs`` as a chain, in an order that they allow: each name needs the one before."""
    order = tuple(TopologicalSorter({name: tuple(needed) for name, needed in needs}).static_order())
    return [(name, order[max(0, place - 1) : place]) for place, name in enumerate(order)]


def _reach(name: str, edges: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    todo = list(edges[name])
    while todo:
        current = todo.pop(0)
        if current not in found:
            found[current] = None
            todo.extend(edges[current])
    return tuple(found)


def run(
    graph: Graph,
    work: Callable[[str], _Result],
    ended: Callable[[str, Future[_Result]], bool],
    *,
    jobs: int,
    threads: str,
    stop: Callable[[], object],
    tick: Callable[[], object] = lambda: None,
) -> None:
    """Run ``work`` for every name of ``graph``, a new one, in threads: each as soon as all its needs are done.

    ``ended`` is called in this thread, and returns whether names that need this one may start. ``threads``: prefix of
    their names. ``stop`` must end the running work, when this thread is interrupted or ``ended`` raises. ``tick`` is
    called about once a second.
    """
    waiting: list[str] = []
    running: dict[Future[_Result], str] = {}
    with ThreadPoolExecutor(max(1, jobs), thread_name_prefix=threads) as pool:
        try:
            while True:
                waiting = graph.by_urgency([*waiting, *graph.ready()])
                while waiting and len(running) < jobs:
                    name = waiting.pop(0)
                    running[pool.submit(work, name)] = name
                if not running:
                    return
                done = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED).done
                tick()
                for future in done:
                    name = running.pop(future)
                    if ended(name, future):
                        graph.done(name)
        except BaseException:
            stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
