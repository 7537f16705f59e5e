"""Named limits of shared resources: the controller's cores, the database during migrations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import BoundedSemaphore

from ...services import RECORDS
from ..types import RolloutError

DEFAULTS: dict[str, int] = {
    "render": 4,  # `helm template` processes at once: each keeps a core busy
    "apply": 12,  # releases being deployed at once
    "database": 4,  # releases at once that need the database: they create and migrate schemas
}


class RolloutLimits:
    """Semaphores by name; ``values`` overrides DEFAULTS. Raises RolloutError for an unknown name or a limit below 1."""

    def __init__(self, values: Mapping[str, int] | None = None) -> None:
        merged = {**DEFAULTS, **(values or {})}
        wrong = [f"unknown limit {name}" for name in sorted(merged.keys() - DEFAULTS.keys())]
        wrong += [f"limit {name} is below 1" for name, value in merged.items() if value < 1]
        if wrong:
            raise RolloutError(
                "; ".join(wrong),
                where="the rollout's option limits",
                why="it would limit nothing, or nothing could ever run",
                remedy=f"write 1 or more for {', '.join(sorted(DEFAULTS))}",
            )
        self.values = merged
        self._semaphores = {name: BoundedSemaphore(value) for name, value in merged.items()}

    @contextmanager
    def hold(self, *names: str) -> Iterator[None]:
        """Hold one place of each named limit, taken in sorted order so that holders cannot deadlock."""
        with ExitStack() as stack:
            for name in sorted(set(names)):
                stack.enter_context(self._semaphores[name])
            yield


def claims(needs: Iterable[str]) -> tuple[str, ...]:
    """Return the limits that apply to a release's deployment. ``needs``: all releases it needs, directly or not."""
    provided = {RECORDS[name].provides for name in needs if name in RECORDS}
    return ("apply", *sorted(name for name in provided if name in DEFAULTS))
