"""Run work that depends on other work: needs first, the longest chain first, in threads.

Releases of a rollout and artifacts of a build are both scheduled here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from .errors import GroundupError

_TICK = 1.0  # seconds between two calls of ``tick`` while work is under way
_Result = TypeVar("_Result")


class GraphError(GroundupError):
    """A graph that can never finish: a name twice, an unknown need, a circle."""


class Graph:
    """Which names may start now.

    ``needs``: each name with what it needs. ``cost`` weighs a name for the longest chain (1 when it is not there).
    ``kind`` and ``where`` say in an error what the names are and where they come from. Raises GraphError.
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
        self._chain: dict[str, float] = {}  # cost of the longest chain that begins with a name
        for name in reversed(order):
            behind = max((self._chain[follower] for follower in self._followers[name]), default=0.0)
            self._chain[name] = (cost or {}).get(name, 1.0) + behind
        self._sorter = TopologicalSorter(self._needs)
        self._sorter.prepare()
        self._lost: set[str] = set()

    def ready(self) -> list[str]:
        """Return the names that may start now and were not returned before, the most urgent first."""
        return self.by_urgency(self._sorter.get_ready())

    def by_urgency(self, names: Iterable[str]) -> list[str]:
        """Return ``names`` with the longest chain first."""
        return sorted(names, key=lambda name: (-self._chain[name], name))

    def longest(self) -> tuple[str, ...]:
        """Return the chain that takes longest, from its beginning."""
        chain: list[str] = []
        names = [name for name, needed in self._needs.items() if not needed]
        while names:
            chain.append(self.by_urgency(names)[0])
            names = self._followers[chain[-1]]
        return tuple(chain)

    def done(self, name: str) -> None:
        """Note that ``name`` is done: what waited only for it becomes ready."""
        self._sorter.done(name)

    def lost(self, name: str) -> tuple[str, ...]:
        """Note that ``name`` failed; return what cannot start because of it and was not lost before."""
        dependants = tuple(sorted(self.dependants(name) - self._lost))
        self._lost.update(dependants)
        return dependants

    def dependants(self, name: str) -> set[str]:
        """Return everything that needs ``name``, directly or not."""
        return set(_reach(name, self._followers))

    def needs(self, name: str) -> tuple[str, ...]:
        """Return everything ``name`` needs, the nearest first."""
        return _reach(name, self._needs)

    def _error(self, what: str, why: str, remedy: str) -> GraphError:
        return GraphError(f"{self._kind} {what}", where=self._where, why=why, remedy=remedy)


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
    """Run ``work`` for every name of ``graph``, each as soon as all it needs is done.

    Args:
        graph: a fresh graph.
        work: called with a name, in a thread; at most ``jobs`` at once.
        ended: called in this thread; returns whether what needs that name may start.
        jobs: how many names are worked on at once.
        threads: prefix of the threads' names.
        stop: called when this thread is interrupted or ``ended`` raises: it makes work that is under way end.
        tick: called about once a second.
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
