"""The virtual IP for users on a network of its own: the network is there, and every control host is on it."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import error
from ..layout.context import PlanContext
from ..types import Finding

KEY = "edge.public"


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about ``edge.public`` and networks of the purpose public."""
    edge, written = context.plan.edge, context.site.edge.public
    networks = context.layout.by_purpose("public")
    if written and not networks:
        yield error("public-without-network", KEY, "networks")(
            what=f"no network has the purpose public, and {written} is to be on one",
            why="the address goes on an interface of control hosts on a network of its own",
            remedy="write such a network: networks: {users: {purpose: public, cidr: ...}}",
        )
    if not networks:
        return
    for network in networks[1:]:
        yield error("public-networks", f"networks.{network.name}.purpose")(
            what=f"{networks[0].name} and {network.name} have the purpose public",
            why="there is one virtual IP for users",
            remedy="keep one of them",
        )
    if edge.kind != "haproxy":
        yield error("public-without-haproxy", f"networks.{networks[0].name}.purpose", "edge.kind")(
            what=f"the public names are served by edge.kind {edge.kind}",
            why="only HAProxy on the control hosts has a virtual IP for users",
            remedy="leave the network out, or write edge.kind: haproxy",
        )
    for name in edge.hosts:
        host = context.plan.hosts[name]
        if not any(one.network == networks[0].name and one.address for one in host.interfaces):
            yield error("public-without-leg", f"networks.{networks[0].name}", "machines")(
                what=f"{name} has no address on {networks[0].name}",
                why="every control host may hold the virtual IP for users",
                remedy="give each control host an address there, and an interface or a VLAN of its own",
            )
