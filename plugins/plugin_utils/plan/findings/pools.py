"""Provider networks and addresses that are lent: pools inside their network that nobody else has; one default."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding, NetworkPlan

USES = ("provisioning", "provider")  # purposes of networks that lend addresses


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about written pools, and about a provider network that has none."""
    yield from _default(context)
    yield from _subnets(context)
    for network in context.plan.networks.values():
        key = f"networks.{network.name}.pool"
        if network.pools and network.purpose not in USES:
            yield error("pool-without-use", key)(
                what=f"{network.name} lends no addresses: its purpose is {network.purpose}",
                why=f"only networks of the purposes {' and '.join(USES)} do",
                remedy="write the pool there, or leave it out",
            )
        elif network.purpose == "provisioning" and len(network.pools) > 1:
            yield error("pool-of-many-ranges", key)(
                what=f"{network.name} has {len(network.pools)} ranges",
                why="the seed's DHCP server lends addresses of one",
                remedy="write the largest of them",
            )
        elif network.purpose == "provider":
            yield from _floating(context, network, key) if network.pools else _unwritten(context, network, key)


def _default(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the default external network."""
    networks, mapped = context.plan.networks.values(), context.plan.ovn.bridge_mappings.values()
    for network in networks:
        if network.default is not None and (network.purpose != "provider" or network.name not in mapped):
            other = "its purpose is " + network.purpose if network.purpose != "provider" else "no bridge leads to it"
            yield error("default-without-use", f"networks.{network.name}.default")(
                what=f"{network.name} is no external network of Neutron: {other}",
                why="only a provider network that ovn.bridge_mappings names can be its default",
                remedy="write it at such a network, or leave it out",
            )
    marked = [network.name for network in networks if network.default and network.purpose == "provider"]
    if len(marked) > 1:
        yield error("several-defaults", *(f"networks.{name}.default" for name in marked))(
            what=f"{', '.join(marked)} are each the default",
            why="Neutron has one default external network, and refuses a second",
            remedy="leave default: true at one of them",
        )


def _subnets(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the projects' subnet pool."""
    pool = context.plan.ovn.subnet_pool
    if pool is None:
        return
    if "neutron" not in context.plan.openstack.services:
        yield error("subnet-pool-without-neutron", "ovn.subnet_pool")(
            what="the site has no Neutron that would have a subnet pool",
            why="what is written there would have no effect",
            remedy="leave it out, or write neutron into openstack.services",
        )
    elif not any(network.default for network in context.plan.networks.values()):
        yield warning("subnet-pool-without-default", "ovn.subnet_pool")(
            what="no external network is the default one: --nic auto is refused, unless Neutron has one already",
            why="an automatic network needs a pool, and a network that its router leads to",
            remedy="write default: true at a network of purpose provider",
        )
    if pool.prefix < IPv4Network(pool.cidr).prefixlen:
        yield error("subnet-larger-than-pool", "ovn.subnet_pool.prefix", "ovn.subnet_pool.cidr")(
            what=f"a subnet of /{pool.prefix} does not fit into {pool.cidr}",
            why="Neutron could give no project a subnet",
            remedy="write a larger cidr, or a longer prefix",
        )


def _unwritten(context: PlanContext, network: NetworkPlan, key: str) -> Iterator[Finding]:
    if context.layout.profile.production and network.name in context.plan.ovn.bridge_mappings.values():
        yield warning("pool-of-the-whole-network", key)(
            what=f"any address of {network.cidr} may become a floating IP",
            why="nothing says which of them routers, switches and others there have: two would have one",
            remedy=f"write {key}: <first>-<last>, the addresses that are the cloud's",
        )


def _floating(context: PlanContext, network: NetworkPlan, key: str) -> Iterator[Finding]:
    cidr = IPv4Network(network.cidr)
    end = IPv4Address(0)
    for first, last in sorted((IPv4Address(first), IPv4Address(last)) for first, last in network.pools):
        if first <= cidr[0] or last >= cidr[-1]:
            yield error("range-outside-network", key)(
                what=f"{first}-{last} is not inside {cidr}",
                why="nobody on the network would reach such a floating IP",
                remedy=f"write addresses from {cidr[1]} to {cidr[-2]}",
            )
        if first <= end:
            yield error("pool-overlaps", key)(
                what=f"{first} is in two ranges",
                why="Neutron refuses pools that overlap",
                remedy="write each address once",
            )
        end = max(end, last)
        if taken := [name for name, address in _taken(context, network) if first <= IPv4Address(address) <= last]:
            yield error("pool-has-planned-addresses", key)(
                what=f"{first}-{last} has addresses of {', '.join(taken[:3])}",
                why="a floating IP would be the same",
                remedy=f"write {key} without them",
            )


def _taken(context: PlanContext, network: NetworkPlan) -> Iterator[tuple[str, str]]:
    """Yield who has which address on ``network``: its router, the site's hosts and the virtual IP."""
    if network.gateway:
        yield "the network's router", network.gateway
    for host in context.plan.hosts.values():
        yield from ((host.name, one.address) for one in host.interfaces if one.network == network.name and one.address)
    if context.plan.edge.network == network.name:
        yield "the virtual IP", context.plan.edge.address
    if (users := context.plan.edge.public) and IPv4Address(users.address) in IPv4Network(network.cidr):
        yield "the virtual IP for users", users.address
