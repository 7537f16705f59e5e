"""The order in which hosts are patched: group by group, as many at a time as may be missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..layers.roles import Role
from ..plan.types import HostPlan, Plan

# From the role whose loss is felt least. A host with several counts as the last of them.
ROLES: tuple[Role, ...] = ("worker", "hypervisor", "storage", "control", "seed")
_ALONE = frozenset[Role](("storage", "control", "seed"))  # copies of data, a quorum, what every host fetches


def batches(
    plan: Plan, hosts: Collection[str], *, first: Collection[str] = (), last: Collection[str] = ()
) -> list[tuple[str, ...]]:
    """Return those of ``hosts`` that are patched at the same time, in order; a batch is of one zone and rack.

    One host is always patched at a time, also where none may be missing: then nothing else may be missing meanwhile.
    ``first``: hosts in maintenance, which are missing already; they come before any other. ``last``: hosts that hold a
    virtual IP, which moves once if it moves to a host that is done.
    """
    groups: dict[str, list[str]] = {}
    for name, host in plan.hosts.items():
        if name in hosts:
            groups.setdefault(host.group, []).append(name)
    ranks = {group: max(ROLES.index(role) for role in plan.hosts[names[0]].roles) for group, names in groups.items()}
    found: list[tuple[str, ...]] = []
    for begun in (True, False):
        for group in sorted(groups, key=lambda one: (ranks[one], not {*last}.isdisjoint(groups[one]), one)):
            part = [one for one in groups[group] if (one in first) is begun]
            cut = [batch for place in _places(plan, part) for batch in _cut(place, at_once(plan, group))]
            found += sorted(cut, key=lambda batch: not {*last}.isdisjoint(batch))
    return found


def at_once(plan: Plan, group: str) -> int:
    """Return how many hosts of ``group`` are patched at the same time."""
    roles = {role for host in plan.hosts.values() if host.group == group for role in host.roles}
    return 1 if roles & _ALONE else max(1, plan.max_unavailable.get(group, 0))


def crowded(plan: Plan, batch: Collection[str], missing: Collection[str]) -> dict[str, list[str]]:
    """Return the groups of which more would be missing with ``batch`` than may, each with those that are already.

    Those of the batch that are missing already, hosts in maintenance, only come back by it.
    """
    found = {}
    for group in sorted({plan.hosts[name].group for name in batch}):
        away = sorted(one for one in missing if one not in batch and plan.hosts[one].group == group)
        begun = sum(plan.hosts[name].group == group for name in batch if name not in missing)
        if away and begun and len(away) + begun > max(1, plan.max_unavailable.get(group, 0)):
            found[group] = away
    return found


def _places(plan: Plan, names: Iterable[str]) -> list[list[str]]:
    """Return ``names`` by zone and rack: what one place loses, the others have."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        host: HostPlan = plan.hosts[name]
        found.setdefault((host.zone or "", host.rack), []).append(name)
    return list(found.values())


def _cut(names: list[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(names[first : first + size]) for first in range(0, len(names), size)]
