"""Networks: traffic is separated, and provider networks end on the right hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...layers.purposes import PURPOSES
from ...layers.roles import ROLES
from ...layers.storage import BACKENDS
from ..form import error, finding
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about missing and shared networks, provider networks and bridge mappings."""
    yield from _shared(context)
    yield from _provider(context)
    yield from _mappings(context)
    for name, network in context.layout.written.items():
        purpose = context.plan.networks[name].purpose
        if network.vlan_range and purpose != "provider":
            yield error("vlan-range-without-provider", f"networks.{name}.vlan_range")(
                what=f"{name} is a {purpose} network, and tenants are to draw VLANs from it",
                why="tenants would be bridged onto a plane of the infrastructure",
                remedy="write the range on a provider network",
            )


def _shared(context: PlanContext) -> Iterator[Finding]:
    layout = context.layout
    carried = [*ROLES["hypervisor"].brings] if layout.with_role("hypervisor") else []
    carried += BACKENDS[context.site.storage.backend].networks
    missing = [purpose for purpose in carried if not layout.by_purpose(purpose)]
    if not missing:
        return
    traffic = " and ".join(PURPOSES[purpose].carries for purpose in missing)
    together = len(missing) == len(carried) and len(carried) > 1
    yield finding(
        "one-plane-for-everything" if together else "plane-missing",
        "error" if layout.profile.large else "warning",
        "networks",
    )(
        what=f"{traffic} would share {layout.management.name} with management and the API",
        why="a busy or broken tenant, or a recovering disk, then takes down the control of the cloud with it",
        remedy=f"write networks for: {', '.join(missing)}",
    )


def _provider(context: PlanContext) -> Iterator[Finding]:
    both = [host.name for host in context.layout.with_role("hypervisor") if "control" in host.roles]
    if both and context.layout.by_purpose("provider"):
        large = context.layout.profile.large
        yield finding("provider-network-on-control-host", "error" if large else "warning", "machines")(
            what=f"the provider network ends on {both[0]}, which is a control host",
            why="a wire that strangers reach is one bridge away from the control plane",
            remedy="keep hypervisors and control hosts apart"
            if large
            else "filter it at the switch; a larger site keeps them apart",
        )


def _mappings(context: PlanContext) -> Iterator[Finding]:
    mappings = context.site.ovn.bridge_mappings
    providers = [network.name for network in context.layout.by_purpose("provider")]
    for physical, network in mappings.items():
        if network not in providers:
            yield error("bridge-mapping-without-network", f"ovn.bridge_mappings.{physical}")(
                what=f"{physical} is mapped to {network}, which is no provider network",
                why="ovn-controller would patch tenants onto a bridge that leads nowhere, or onto the infrastructure",
                remedy=f"one of: {', '.join(providers) or 'none is written: add a network with purpose provider'}",
            )
    for network, count in Counter(mappings.values()).items():
        if count > 1:
            yield error(
                "bridge-mapping-twice",
                *tuple(f"ovn.bridge_mappings.{name}" for name, target in mappings.items() if target == network),
            )(
                what=f"{network} has {count} physical networks",
                why="a bridge has one owner, or two of them hand out the same VLAN",
                remedy="keep one of them",
            )
