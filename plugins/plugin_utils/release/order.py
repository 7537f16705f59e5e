"""The order in which hypervisors go to another release of OpenStack. Pure."""

from __future__ import annotations

from collections.abc import Collection

from ..plan.types import Plan


def batches(plan: Plan, hosts: Collection[str]) -> list[tuple[str, ...]]:
    """Return which of ``hosts`` restart nova-compute at the same time: one alone, then zone after zone.

    Within a zone as many of a group of machines as may be missing, at least one.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for name, host in plan.hosts.items():
        if name in hosts:
            groups.setdefault((host.zone or "", host.group), []).append(name)
    found: list[tuple[str, ...]] = []
    for zone, group in sorted(groups):
        names, size = groups[zone, group], max(1, plan.max_unavailable.get(group, 0))
        if not found:
            found.append((names.pop(0),))
        found += [tuple(names[first : first + size]) for first in range(0, len(names), size)]
    return found
