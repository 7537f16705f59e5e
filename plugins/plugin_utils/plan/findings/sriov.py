"""Network cards with virtual functions (SR-IOV). What only the machine knows, preflight asks it."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import choose, error
from ..layout.context import PlanContext
from ..platform.ovn import bridge_mappings
from ..types import Finding, HostPlan


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield cards on no provider network, of system containers, and with networks of the host."""
    layout = context.layout
    known = [network for network in bridge_mappings(layout).values() if network in layout.networks]
    for kind in context.plan.hypervisor.compute:
        hosts = [host for host in layout.with_role("hypervisor") if host.hardware == kind]
        made = next((host.name for host in hosts if host.provisioner == "container"), None)
        for card, one in layout.hardware[kind].sriov.items():
            key = f"hardware.{kind}.sriov.{card}"
            if one.network not in known:
                yield error("sriov-without-provider", f"{key}.network")(
                    what=f"{one.network} is no provider network with a physical network of Neutron's",
                    why="a virtual function is a port of the card's own switch: it reaches no tunnel",
                    remedy=choose(one.network, known),
                )
            if made:
                yield error("sriov-in-container", key)(
                    what=f"{made} is a system container, which has no card",
                    why="nothing could make virtual functions there",
                    remedy="leave sriov out of the hardware of a lab",
                )
            if used := next(((host.name, name) for host in hosts for name in _others(host, card, one.network)), None):
                yield error("sriov-card-in-use", key)(
                    what=f"{card} of {used[0]} is the host's own way: {used[1]} is on it",
                    why="instances would be on the segment of the host's own traffic, and a bond moves no function to "
                    "its other port",
                    remedy="name a card that no bond has, and no network of the host",
                )


def _others(host: HostPlan, card: str, network: str) -> Iterator[str]:
    """Yield bonds, bridges, VLANs and networks on ``card`` beside ``network``."""
    for link in host.links:
        if card in link.members or link.parent == card:
            yield link.name
        elif link.name == card and link.network not in (None, network):
            yield str(link.network)
