"""Availability of machine groups: how many may be missing, and how many a run waits for."""

from __future__ import annotations

from collections import Counter

from ...layers.enough import SuccessCriteria
from ...layers.roles import ROLES, Role
from ..model.machines import Enough as Written
from .context import Layout, roles_of, size_of


def max_unavailable(layout: Layout) -> dict[str, int]:
    """Return each group's limit of unavailable machines."""
    limits = {}
    for name, group in layout.site.machines.items():
        size = size_of(layout.site, group)
        records = [ROLES[role].max_unavailable for role in roles_of(name, group)]
        if any(limit is None for limit in records):
            limits[name] = 0
        elif group.max_unavailable is not None:
            limits[name] = _count(group.max_unavailable, size)
        elif group.enough is not None:
            limits[name] = max(0, _enough(layout, name, size, group.enough).spare)
        else:
            limits[name] = min(_default(limit, size) for limit in records if limit is not None)
    return limits


def enough(layout: Layout) -> dict[str, SuccessCriteria]:
    """Return the needed machines of each group that has an `enough`, except groups of required roles."""
    return {
        name: _enough(layout, name, size_of(layout.site, group), group.enough)
        for name, group, roles in layout.groups()
        if group.enough is not None and not required(roles)
    }


def required(roles: tuple[Role, ...]) -> list[Role]:
    """Return the ``roles`` whose machines stop a run when they are down."""
    return [role for role in roles if ROLES[role].max_unavailable is None]


def _default(limit: str | int, size: int) -> int:
    """Return a role's default limit. A share is at least one machine, but never all of them."""
    return limit if isinstance(limit, int) else max(0, min(max(1, _count(limit, size)), size - 1))


def _enough(layout: Layout, name: str, size: int, written: Written) -> SuccessCriteria:
    racks = Counter(member.rack for member in layout.members if member.group == name)
    each = written.minimum_per_rack or 0
    return SuccessCriteria(
        size=size,
        machines=_count(written.minimum or 0, size, up=True),
        racks={rack: (count, min(count, _count(each, count, up=True))) for rack, count in racks.items() if each},
        critical=tuple(written.critical),
    )


def _count(limit: str | int, size: int, *, up: bool = False) -> int:
    return limit if isinstance(limit, int) else (size * int(limit.removesuffix("%")) + 99 * up) // 100
