"""The order in which hosts are patched: group by group, as many at a time as may be missing."""

from __future__ import annotations

from collections.abc import Collection

from ..layers.roles import Role
from ..plan.types import Plan

# From the role whose loss is felt least. A host with several counts as the last of them.
ROLES: tuple[Role, ...] = ("worker", "hypervisor", "storage", "control", "seed")


def batches(plan: Plan, hosts: Collection[str]) -> list[tuple[str, ...]]:
    """Return those of ``hosts`` that are patched at the same time, in order.

    One host is always patched at a time, also where none may be missing: then nothing else may be missing meanwhile.
    """
    groups: dict[str, list[str]] = {}
    for name, host in plan.hosts.items():
        if name in hosts:
            groups.setdefault(host.group, []).append(name)
    ranks = {group: max(ROLES.index(role) for role in plan.hosts[names[0]].roles) for group, names in groups.items()}
    found: list[tuple[str, ...]] = []
    for group in sorted(groups, key=lambda one: (ranks[one], one)):
        names, size = groups[group], max(1, plan.max_unavailable.get(group, 0))
        found += [tuple(names[first : first + size]) for first in range(0, len(names), size)]
    return found
