"""Queue of machines to install: critical ones first, racks in turn, with a limit. Pure.

Ironic refuses requests above its limits; here machines wait instead. The machines under way are read from Ironic, so
the queue needs no state of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# What Ironic counts against its limits: 250 deployments, 50 cleanings.
BUSY = frozenset(("deploying", "wait call-back", "cleaning", "clean wait", "deleting"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A machine that waits for its installation."""

    name: str
    rack: str
    critical: bool = False  # the site cannot do without it


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """How many machines may be under way."""

    at_once: int
    per_rack: int | None = None  # one switch and its uplink carry every image of a rack


def admitted(waiting: Iterable[Waiting], under_way: Mapping[str, str], limits: QueueLimits) -> list[str]:
    """Return the machines to start now, in order; ``under_way``: racks of machines under way, also of other runs.

    The rack with the fewest machines under way is next, so that a large rack does not delay a small one.
    """
    racks = Counter(under_way.values())
    lines: dict[tuple[bool, str], list[str]] = {}
    for machine in waiting:
        if machine.name not in under_way:
            lines.setdefault((machine.critical, machine.rack), []).append(machine.name)
    chosen: list[str] = []
    while len(under_way) + len(chosen) < limits.at_once:
        free = [key for key, names in lines.items() if names and not _full(racks[key[1]], limits)]
        if not free:
            break
        critical, rack = min(free, key=lambda key: (not key[0], racks[key[1]]))  # ties: in order
        chosen.append(lines[critical, rack].pop(0))
        racks[rack] += 1
    return chosen


def _full(under_way: int, limits: QueueLimits) -> bool:
    return limits.per_rack is not None and under_way >= max(1, limits.per_rack)
