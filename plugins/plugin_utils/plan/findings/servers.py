"""Servers outside the site: their addresses are no pod's, and a site without a router reaches them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network
from urllib.parse import urlsplit

from ...layers.purposes import PURPOSES
from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about servers that hosts would not reach."""
    servers = _servers(context)
    yield from _behind_pods(context, servers)
    yield from _on_virtual_ip(context)
    management = context.layout.management
    if management.gateway is None:
        yield from _made_here(context)
        yield from _beyond(context, servers)


def _servers(context: PlanContext) -> dict[str, Sequence[str]]:
    """Return names and addresses of servers by key of the site file, as hosts use them."""
    hosts, supply, ceph = context.site.hosts, context.site.supply, context.site.storage.external
    urls = {
        "hosts.packages_url": hosts.packages_url,
        "supply.registry": supply.registry,
        "supply.files_url": supply.files_url,
    }
    controllers = {
        f"{one.key}.bmc.address": (one.own.bmc.address,)
        for one in context.layout.members
        if one.own and one.own.bmc and one.own.bmc.address
    }
    return {
        "hosts.dns_servers": hosts.dns_servers,
        "hosts.ntp_servers": context.plan.host.ntp_servers,
        "storage.external.monitors": ceph.monitors if ceph else (),
        **{key: (_host_in(url),) for key, url in urls.items() if url},
        **controllers,
    }


def _host_in(url: str) -> str:
    return urlsplit(url if "://" in url else f"//{url}").hostname or ""


def _is_address(text: str) -> bool:
    return text.replace(".", "").isdigit() and text.count(".") == 3


def _behind_pods(context: PlanContext, servers: dict[str, Sequence[str]]) -> Iterator[Finding]:
    for key, names in servers.items():
        for address in filter(_is_address, names):
            for inside in ("pod_cidr", "service_cidr"):
                cidr = getattr(context.plan.kubernetes, inside)
                if IPv4Address(address) in IPv4Network(cidr):
                    yield error("server-behind-pods", key, f"kubernetes.{inside}")(
                        what=f"{address} is inside {cidr}, a network of the cluster alone",
                        why="nodes look for it among pods and Services, and never ask the real one",
                        remedy=f"write another network into kubernetes.{inside}",
                    )


def _on_virtual_ip(context: PlanContext) -> Iterator[Finding]:
    address = context.plan.edge.address
    for name in ("dns_servers", "ntp_servers"):
        if address in getattr(context.site.hosts, name):
            yield error("server-on-virtual-ip", f"hosts.{name}", "edge.address")(
                what=f"{address} is the virtual IP of the site",
                why="HAProxy answers there, for users of the cloud: hosts would have no resolver, or no time",
                remedy=f"write servers of your network into hosts.{name}",
            )


def _made_here(context: PlanContext) -> Iterator[Finding]:
    made = next((host.name for host in context.plan.hosts.values() if host.provisioner == "container"), None)
    if made:
        name = context.layout.management.name
        yield error("lab-without-router", f"networks.{name}.gateway")(
            what=f"{made} is a system container, and {name} has no router",
            why="the router of a lab's network is this machine, which would not reach its hosts",
            remedy="leave the gateway out in a lab",
        )


def _beyond(context: PlanContext, servers: dict[str, Sequence[str]]) -> Iterator[Finding]:
    """Yield servers that no network of the site holds; names, where no resolver inside can tell their address."""
    management = context.layout.management.name
    near = [IPv4Network(one.cidr) for one in context.plan.networks.values() if PURPOSES[one.purpose].addressed]

    def inside(name: str) -> bool:
        return _is_address(name) and any(IPv4Address(name) in network for network in near)

    resolved = any(inside(one) for one in servers["hosts.dns_servers"])
    for key, names in servers.items():
        far = [name for name in names if not inside(name) and (_is_address(name) or not resolved)]
        if far and not key.endswith(".bmc.address"):  # the seed asks them, by a way of its own
            yield warning("server-without-way", key, f"networks.{management}.gateway")(
                what=f"{', '.join(far)}: in no network of the site, and {management} has no router",
                why="hosts have no default route, so they reach it only by routes that the site does not make",
                remedy=f"write servers inside the site's networks into {key}, or a gateway",
            )
