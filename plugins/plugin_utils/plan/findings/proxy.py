"""The proxy: its address is nobody's of the site, and it is not among what is reached past it."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from urllib.parse import urlsplit

from ..form import error
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the written URLs of the proxy."""
    plan = context.plan
    if (written := context.site.proxy) is None:
        return
    if plan.host.packages_proxy and written.login and plan.metal and plan.metal.runner:
        yield error("proxy-login-not-on-the-seed", "proxy.login", "seed.runner", "hosts.packages")(
            what="the seed configures machines itself, and their package sources are behind a proxy with a login",
            why="the seed has no secret of the site: it could not give machines the login",
            remedy="leave seed.runner out, write hosts.packages: seed, or use a proxy without a login",
        )
    own = {host.address: host.name for host in plan.hosts.values()} | {plan.edge.address: "the virtual IP"}
    own |= {plan.edge.public.address: "the virtual IP for users"} if plan.edge.public else {}
    for field in ("http", "https"):
        if (url := getattr(written, field)) is None:
            continue
        name, key = urlsplit(url).hostname or "", f"proxy.{field}"
        if (user := own.get(name)) or name in plan.host.names:
            yield error("proxy-is-the-sites", key)(
                what=f"{name} is {user or 'a name of the site'}, which answers other questions",
                why="nothing would be fetched from outside",
                remedy="write the proxy of your network",
            )
        elif name[-1].isdigit():
            yield from _lent(context, IPv4Address(name), key)


def _lent(context: PlanContext, address: IPv4Address, key: str) -> Iterator[Finding]:
    """Yield what else may get the address of the proxy."""
    plan = context.plan
    for network in plan.networks.values():
        if any(IPv4Address(first) <= address <= IPv4Address(last) for first, last in network.pools):
            yield error("proxy-in-pool", key, f"networks.{network.name}.pool")(
                what=f"{address} is in the pool of {network.name}, from which others get addresses",
                why="the proxy and somebody else would have one address",
                remedy="take it out of the pool, or write another proxy",
            )
    for inside in ("pod_cidr", "service_cidr"):
        cidr = getattr(plan.kubernetes, inside)
        if address in IPv4Network(cidr):
            yield error("server-behind-pods", key, f"kubernetes.{inside}")(
                what=f"{address} is inside {cidr}, a network of the cluster alone",
                why="nodes look for it among pods and Services, and never ask the real one",
                remedy=f"write another network into kubernetes.{inside}",
            )
