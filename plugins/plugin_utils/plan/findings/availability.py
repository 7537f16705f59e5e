"""Availability: limits of missing machines, never for seed or control hosts; and gateway chassis of the network."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.roles import Role
from ..form import error, finding, warning
from ..layout.availability import required
from ..layout.context import PlanContext
from ..model.machines import Enough
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield a finding for each written limit that has no effect or cannot be met."""
    for name, group, roles in context.layout.groups():
        if group.max_unavailable not in (None, 0, "0%") and (needed := required(roles)):
            yield warning("required-machines", f"machines.{name}.max_unavailable")(
                what=f"{group.max_unavailable} of {name} may be unavailable, and their role is {needed[0]}",
                why="a run never goes on without a seed or a control host: the limit is 0",
                remedy="leave it out",
            )
        if group.enough is not None:
            yield from _enough(context, name, group.enough, roles)
    yield from _gateways(context)


def _enough(context: PlanContext, name: str, written: Enough, roles: tuple[Role, ...]) -> Iterator[Finding]:
    """Yield findings about values of ``written`` that have no effect or cannot be met."""
    if needed := required(roles):
        yield warning("required-machines", f"machines.{name}.enough")(
            what=f"a part of {name} is to be enough, and their role is {needed[0]}",
            why="a run never goes on without a seed or a control host: every one is waited for",
            remedy="leave it out",
        )
        return
    own = {member.name for member in context.layout.members if member.group == name}
    if unknown := [one for one in written.critical if one not in own]:
        yield error("enough-unknown-machine", f"machines.{name}.enough.critical")(
            what=f"{', '.join(unknown)} is no machine of {name}",
            why="a run that waited for it would never go on",
            remedy=f"write names of machines of {name}, such as {min(own, default='none')}",
        )
    if (found := context.plan.enough[name]).machines > found.size:
        yield error("enough-too-many", f"machines.{name}.enough.minimum")(
            what=f"{found.machines} of {name} are to be enough, and it has {found.size}",
            why="a run that waited for them would never go on",
            remedy=f"write at most {found.size}, or a share",
        )


def _gateways(context: PlanContext) -> Iterator[Finding]:
    """Yield a finding when routers have a gateway chassis that cannot be replaced.

    ovn-controller takes a port over only while BFD shows it another live chassis: else it considers itself isolated.
    """
    if len(context.layout.with_role("hypervisor")) == 2:
        yield finding("gateway-not-replaced", "warning" if context.layout.profile.production else "info", "machines")(
            what="two hypervisors are all gateway chassis of the site",
            why="OVN replaces a lost one only while the next still reaches a third: until it is back, instances "
            "without a floating IP do not reach the outside, and with distributed_floating_ip: false none is reached",
            remedy="add a hypervisor",
        )
