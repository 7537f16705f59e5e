"""When so many of a group of machines serve that a run goes on without the others. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Enough:
    """What must serve of one group."""

    size: int  # of the group
    machines: int  # so many of it
    racks: Mapping[str, tuple[int, int]]  # machines of the group in a rack, and how many of them
    critical: tuple[str, ...]  # and these in any case

    @property
    def spare(self) -> int:
        """Return how many of the group it can at most do without."""
        racks = sum(needed for _, needed in self.racks.values())
        return self.size - max(self.machines, racks, len(self.critical))


def lacking(group: str, enough: Enough, away: Mapping[str, str]) -> list[str]:
    """Return a line for each thing that ``group`` lacks while machines do not serve; ``away``: their racks."""
    found = []
    if (serve := enough.size - len(away)) < enough.machines:
        found.append(f"{serve} of {enough.size} of {group} serve, {enough.machines} are enough")
    gone = Counter(away.values())
    for rack, (size, needed) in enough.racks.items():
        if (serve := size - gone[rack]) < needed:
            found.append(f"{serve} of {size} of {group} in rack {rack} serve, {needed} are enough")
    found += [f"{name} does not serve, and is critical" for name in enough.critical if name in away]
    return found
