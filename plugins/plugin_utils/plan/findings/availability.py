"""Machines a run may go on without: never a seed or a control host."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import warning
from ..layout.availability import required
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield a finding for each limit that is written and does not count."""
    for name, group, roles in context.layout.groups():
        if group.max_unavailable not in (None, 0, "0%") and (needed := required(roles)):
            yield warning("required-machines", f"machines.{name}.max_unavailable")(
                what=f"{group.max_unavailable} of {name} may be unavailable, and their role is {needed[0]}",
                why="a run never goes on without a seed or a control host: the limit is 0",
                remedy="leave it out",
            )
