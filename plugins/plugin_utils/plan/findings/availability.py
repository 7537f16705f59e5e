"""Machines a run may go on without: never a seed or a control host; and what the network loses with one."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import finding, warning
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
    yield from _gateways(context)


def _gateways(context: PlanContext) -> Iterator[Finding]:
    """Yield whether routers have a gateway chassis that cannot be replaced.

    ovn-controller takes a port over only while BFD shows it another chassis: else it takes itself for the one cut off.
    """
    if len(context.layout.with_role("hypervisor")) == 2:
        yield finding("gateway-not-replaced", "warning" if context.layout.profile.production else "info", "machines")(
            what="two hypervisors are all gateway chassis of the site",
            why="OVN replaces a lost one only while the next still reaches a third: until it is back, instances "
            "without a floating IP do not reach the outside, and with distributed_floating_ip: false none is reached",
            remedy="add a hypervisor",
        )
