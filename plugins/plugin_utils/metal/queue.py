"""Whose way begins next: critical machines first, racks in turn, so many at once. Pure.

Ironic refuses what is above its limits; here machines wait instead. Who is under way is read from Ironic, so a run that
was killed leaves nothing behind that the next one must know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# What Ironic counts against its limits: 250 deployments, 50 cleanings.
BUSY = frozenset(("deploying", "wait call-back", "cleaning", "clean wait", "deleting"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A machine that has not begun."""

    name: str
    rack: str
    critical: bool = False  # the site cannot do without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many may be under way."""

    at_once: int
    per_rack: int | None = None  # one switch and its uplink carry every image of a rack


def admitted(waiting: Iterable[Waiting], under_way: Mapping[str, str], limits: Limits) -> list[str]:
    """Return who begins now, in order; ``under_way``: the rack of each machine that is, also of another run.

    The rack with the fewest under way is next, so that a large rack does not keep a small one waiting.
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
        critical, rack = min(free, key=lambda key: (not key[0], racks[key[1]]))  # a tie: as the site file has them
        chosen.append(lines[critical, rack].pop(0))
        racks[rack] += 1
    return chosen


def _full(under_way: int, limits: Limits) -> bool:
    return limits.per_rack is not None and under_way >= max(1, limits.per_rack)
