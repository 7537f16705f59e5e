"""Decide whether enough machines of a group serve, so that a run goes on without the others. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessCriteria:
    """Which machines of one group must serve."""

    size: int  # machines of the group
    machines: int  # machines that must serve
    racks: Mapping[str, tuple[int, int]]  # rack -> machines of the group in it, and how many of them must serve
    critical: tuple[str, ...]  # machines that must serve in any case

    @property
    def spare(self) -> int:
        """Return the largest number of machines that may be missing."""
        racks = sum(needed for _, needed in self.racks.values())
        return self.size - max(self.machines, racks, len(self.critical))


def lacking(group: str, enough: SuccessCriteria, away: Mapping[str, str]) -> list[str]:
    """Return one line per unmet requirement of ``group``. ``away``: machines that do not serve -> their rack."""
    found = []
    if (serve := enough.size - len(away)) < enough.machines:
        found.append(f"{serve} of {enough.size} of {group} serve, {enough.machines} are enough")
    gone = Counter(away.values())
    for rack, (size, needed) in enough.racks.items():
        if (serve := size - gone[rack]) < needed:
            found.append(f"{serve} of {size} of {group} in rack {rack} serve, {needed} are enough")
    found += [f"{name} does not serve, and is critical" for name in enough.critical if name in away]
    return found
