"""How many machines of a group a run may go on without."""

from __future__ import annotations

from ...layers.roles import ROLES, Role
from .context import Layout, roles_of, size_of


def max_unavailable(layout: Layout) -> dict[str, int]:
    """Return the limit of each group of machines."""
    limits = {}
    for name, group in layout.site.machines.items():
        size = size_of(layout.site, group)
        records = [ROLES[role].max_unavailable for role in roles_of(name, group)]
        if any(limit is None for limit in records):
            limits[name] = 0
        elif group.max_unavailable is not None:
            limits[name] = _count(group.max_unavailable, size)
        else:
            limits[name] = min(_default(limit, size) for limit in records if limit is not None)
    return limits


def required(roles: tuple[Role, ...]) -> list[Role]:
    """Return those of ``roles`` whose machines stop a run when they are down."""
    return [role for role in roles if ROLES[role].max_unavailable is None]


def _default(limit: str | int, size: int) -> int:
    """Return a role's own limit: of a share at least one machine, and never all of them."""
    return limit if isinstance(limit, int) else max(0, min(max(1, _count(limit, size)), size - 1))


def _count(limit: str | int, size: int) -> int:
    return limit if isinstance(limit, int) else size * int(limit.removesuffix("%")) // 100
