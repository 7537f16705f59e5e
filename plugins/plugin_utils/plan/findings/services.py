"""OpenStack services: known, complete, in no impossible order, their values explained (D1-D3)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from ..layout.context import PlanContext
from ..services import SERVICES
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the services, their overrides and the virtual IP's router id."""
    wanted = context.plan.openstack.services
    deployed = {release.name for release in context.plan.openstack.releases}
    for name in wanted:
        if name not in SERVICES:
            close = difflib.get_close_matches(name, SERVICES, n=1)
            yield Finding(
                name="unknown-service",
                severity="error",
                where=("openstack.services",),
                what=f"there is no service {name}",
                why="nothing would be deployed for it",
                remedy=f"did you mean {close[0]}?" if close else f"one of: {', '.join(SERVICES)}",
            )
            continue
        missing = [need for need in SERVICES[name].needs if need not in wanted]
        if missing:
            dashboard = name == "horizon"
            yield Finding(
                name="dashboard-first" if dashboard else "service-without-its-needs",
                severity="error",
                where=("openstack.services",),
                what=f"{name} is listed without {', '.join(missing)}",
                why="it would come up and fail every request"
                if not dashboard
                else "a dashboard without APIs shows errors only",
                remedy=f"add: {', '.join(missing)}",
            )
        if name not in deployed:
            yield Finding(
                name="service-not-built-in",
                severity="warning",
                where=("openstack.services",),
                what=f"{name} has a name and a place in the graph, but no release yet",
                why="this version of the collection does not deploy it: its endpoint answers 503",
                remedy="leave it out until a later version deploys it",
            )
    yield from _magnum(context, wanted)
    for name, override in context.site.openstack.overrides.items():
        if name not in deployed:
            yield Finding(
                name="override-without-release",
                severity="error",
                where=(f"openstack.overrides.{name}",),
                what=f"there is no release {name}",
                why="the values would have no effect",
                remedy=f"one of: {', '.join(sorted(deployed)) or 'none: no services are listed'}",
            )
        if not override.why:
            yield Finding(
                name="undocumented-values",
                severity="warning",
                where=(f"openstack.overrides.{name}",),
                what=f"values of {name} are overridden without a reason",
                why="at the next upgrade nobody knows whether they may go",
                remedy=f"write openstack.overrides.{name}.why",
            )
    yield from _router_id(context)


def _magnum(context: PlanContext, wanted: tuple[str, ...]) -> Iterator[Finding]:
    if "magnum" in wanted and context.site.profile != "region":
        yield Finding(
            name="needless-magnum",
            severity="warning",
            where=("openstack.services",),
            what=f"magnum in a site of profile {context.site.profile}",
            why="it adds Heat, Barbican and a trust to what Cluster API does with an application credential (M2)",
            remedy="leave it out unless tenants must order clusters from OpenStack itself",
        )


def _router_id(context: PlanContext) -> Iterator[Finding]:
    edge = context.plan.edge
    network = IPv4Network(context.plan.networks[edge.network].cidr)
    if context.site.edge.router_id is None and network.prefixlen < 24 and IPv4Address(edge.address) in network:
        low = int(edge.address.rpartition(".")[2])
        if low == 0:
            yield Finding(
                name="router-id-guessed",
                severity="warning",
                where=("edge.router_id",),
                what=f"{edge.address} ends in 0: the router id is 1",
                why="another site on the same network may have the same one, and both would fight for the address",
                remedy="write edge.router_id, 1-255, unique on the network",
            )
