"""The order of releases: what may start now, and which of those first.

A release starts as soon as all it needs has verified; there are no waves. Among those that may start, the one with the
longest way to go behind it goes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from ...plan.types import ReleasePlan
from ..types import RolloutError


class Graph:
    """Readiness per release.

    ``seconds`` (optional) weighs a release by how long it took before; without it every release weighs the same.
    Raises RolloutError for a need that is no release, a name twice, and a circle (naming its members).
    """

    def __init__(self, releases: Iterable[ReleasePlan], *, seconds: Mapping[str, float] | None = None) -> None:
        self.releases: dict[str, ReleasePlan] = {}
        for release in releases:
            if release.name in self.releases:
                raise RolloutError(
                    f"release {release.name} is there twice",
                    where="openstack.releases",
                    why="a name stands for one release",
                    remedy="rename one of them",
                )
            self.releases[release.name] = release
        self._check_needs()
        self._weights = self._way_to_go(seconds or {})
        self._sorter = TopologicalSorter({name: release.needs for name, release in self.releases.items()})
        self._sorter.prepare()
        self._lost: set[str] = set()

    def ready(self) -> list[str]:
        """Return the releases that may start now and were not returned before, the most urgent first."""
        return sorted(self._sorter.get_ready(), key=lambda name: (-self._weights[name], name))

    def done(self, name: str) -> None:
        """Note that ``name`` verified: what waited only for it becomes ready."""
        self._sorter.done(name)

    def lost(self, name: str) -> tuple[str, ...]:
        """Note that ``name`` failed; return all releases that cannot start because of it and were not lost before."""
        dependants = tuple(sorted(self.dependants(name) - self._lost))
        self._lost.update(dependants)
        return dependants

    def dependants(self, name: str) -> set[str]:
        """Return every release that needs ``name``, directly or not."""
        found: set[str] = set()
        todo = [name]
        while todo:
            current = todo.pop()
            for other in self.releases.values():
                if current in other.needs and other.name not in found:
                    found.add(other.name)
                    todo.append(other.name)
        return found

    def needs(self, name: str) -> tuple[str, ...]:
        """Return every release ``name`` stands on, the nearest first."""
        found: list[str] = []
        todo = list(self.releases[name].needs)
        while todo:
            current = todo.pop(0)
            if current not in found:
                found.append(current)
                todo.extend(self.releases[current].needs)
        return tuple(found)

    def urgency(self, name: str) -> float:
        """Return the length of the longest path that begins with ``name``."""
        return self._weights[name]

    def _check_needs(self) -> None:
        for release in self.releases.values():
            unknown = sorted(set(release.needs) - set(self.releases))
            if unknown:
                raise RolloutError(
                    f"release {release.name} needs {', '.join(unknown)}, which this site does not roll out",
                    where="openstack.services",
                    why="it could never start",
                    remedy="add the service, or drop the one that needs it",
                )
        try:
            TopologicalSorter({name: release.needs for name, release in self.releases.items()}).prepare()
        except CycleError as error:
            circle = " > ".join(reversed(error.args[1]))
            raise RolloutError(
                f"releases need each other in a circle: {circle}",
                where="openstack.releases",
                why="none of them could ever start",
                remedy="remove one of the needs",
            ) from error

    def _way_to_go(self, seconds: Mapping[str, float]) -> dict[str, float]:
        followers: dict[str, list[str]] = {name: [] for name in self.releases}
        for release in self.releases.values():
            for need in release.needs:
                followers[need].append(release.name)
        weights: dict[str, float] = {}
        order = TopologicalSorter({name: release.needs for name, release in self.releases.items()}).static_order()
        for name in reversed(tuple(order)):
            behind = max((weights[follower] for follower in followers[name]), default=0.0)
            weights[name] = seconds.get(name, 1.0) + behind
        return weights
