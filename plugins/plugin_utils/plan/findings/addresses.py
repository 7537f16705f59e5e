"""Addresses: no two networks overlap, no address is used twice, every address is inside its network."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from ....module_utils._base.text import few
from ..form import error, finding, info
from ..layout.context import PlanContext
from ..layout.wires import gateway_of
from ..types import Finding

_LOOPBACK = IPv4Network("127.0.0.0/8")
_WHOLE = 24  # prefix length of a network in which no host can have .0 or .255
_SHOWN = 5  # clashes listed one by one: enough to see the pattern
_USERS = "; users get one of their own by edge.public"  # what an address of another network is for


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about CIDRs, ranges and single addresses."""
    yield from _loopback(context)
    yield from _overlaps(context)
    yield from _ranges(context)
    yield from _outside(context)
    yield from _twice(context)
    yield from _edges(context)


def _loopback(context: PlanContext) -> Iterator[Finding]:
    kubernetes = context.plan.kubernetes
    planes = {f"networks.{name}.cidr": network.cidr for name, network in context.plan.networks.items()}
    # A site on loopback alone is one process that speaks to itself: tests do.
    if all(IPv4Network(cidr).is_loopback for cidr in planes.values()):
        planes = {}
    planes |= {"kubernetes.pod_cidr": kubernetes.pod_cidr, "kubernetes.service_cidr": kubernetes.service_cidr}
    if context.plan.ovn.subnet_pool:
        planes["ovn.subnet_pool.cidr"] = context.plan.ovn.subnet_pool.cidr
    for key, cidr in planes.items():
        if IPv4Network(cidr).overlaps(_LOOPBACK):
            yield error("network-on-loopback", key)(
                what=f"{cidr} holds addresses by which every host reaches itself",
                why="a packet to such an address never leaves the host",
                remedy="write another network, such as 10.0.0.0/24",
            )


def _overlaps(context: PlanContext) -> Iterator[Finding]:
    planes = {f"networks.{name}.cidr": network.cidr for name, network in context.plan.networks.items()}
    planes["kubernetes.pod_cidr"] = context.plan.kubernetes.pod_cidr
    planes["kubernetes.service_cidr"] = context.plan.kubernetes.service_cidr
    if context.plan.ovn.subnet_pool:
        planes["ovn.subnet_pool.cidr"] = context.plan.ovn.subnet_pool.cidr
    parsed = sorted(((IPv4Network(cidr), key) for key, cidr in planes.items()), key=lambda pair: pair[1])
    for (one, one_key), (other, other_key) in combinations(parsed, 2):
        if one.overlaps(other):
            yield error("cidr-overlap", one_key, other_key)(
                what=f"{one} and {other} share addresses",
                why="a packet to a shared address takes one of two ways, by chance of routes: both planes fail in part",
                remedy="give each plane a network of its own",
            )


def _ranges(context: PlanContext) -> Iterator[Finding]:
    for name, network in context.layout.written.items():
        cidr = IPv4Network(network.cidr)
        found = context.layout.shares[name]
        for role in network.ranges:
            share = found[role]
            if IPv4Address(share.first) not in cidr or IPv4Address(share.last) not in cidr:
                yield error("range-outside-network", f"networks.{name}.ranges.{role}")(
                    what=f"{share} is not inside {cidr}",
                    why="a machine with such an address reaches nobody on the network",
                    remedy=f"write addresses from {cidr[1]} to {cidr[-2]}",
                )
            for other, taken in found.items():
                clash = other != role and share.first <= taken.last and taken.first <= share.last
                if clash and (other > role or other not in network.ranges):
                    yield finding(
                        "ranges-overlap",
                        "warning" if other not in network.ranges else "error",
                        f"networks.{name}.ranges.{role}",
                        f"networks.{name}.ranges.{other}",
                    )(
                        what=f"{role} has {share} and {other} has {taken}",
                        why="two machines of different roles could be given one address",
                        remedy="write ranges for both roles that do not meet",
                    )


def _outside(context: PlanContext) -> Iterator[Finding]:
    parsed = {name: IPv4Network(network.cidr) for name, network in context.plan.networks.items()}
    for name, network in context.layout.written.items():
        if network.gateway not in (None, "none") and IPv4Address(network.gateway) not in parsed[name]:
            yield _stray(f"networks.{name}.gateway", network.gateway, parsed[name])
    vip = context.site.edge.address
    if vip and IPv4Address(vip) not in parsed[context.plan.edge.network]:
        yield _stray("edge.address", vip, parsed[context.plan.edge.network], more=_USERS)
    users = context.plan.edge.public
    if users and IPv4Address(users.address) not in IPv4Network(users.cidr):
        yield _stray("edge.public", users.address, IPv4Network(users.cidr))
    for member in context.layout.members:
        if member.own is None:
            continue
        if member.own.address and IPv4Address(member.own.address) not in parsed[context.layout.management.name]:
            yield _stray(f"{member.key}.address", member.own.address, parsed[context.layout.management.name])
        for network_name, port in member.own.ports.items():
            if network_name not in parsed:
                yield error("unknown-network", f"{member.key}.ports.{network_name}")(
                    what=f"the site has no network {network_name}",
                    why="what is written there would have no effect",
                    remedy=f"one of: {', '.join(parsed)}",
                )
            elif network_name not in {port.network for port in context.plan.hosts[member.name].interfaces}:
                roles = ", ".join(context.plan.hosts[member.name].roles)
                yield error("port-without-network", f"{member.key}.ports.{network_name}")(
                    what=f"{member.name} ({roles}) is not on {network_name}",
                    why="what is written there would have no effect",
                    remedy="leave it out, or give the machine a role that is on that network",
                )
            elif port.address and IPv4Address(port.address) not in parsed[network_name]:
                yield _stray(f"{member.key}.ports.{network_name}.address", port.address, parsed[network_name])


def _stray(key: str, address: str, network: IPv4Network, *, more: str = "") -> Finding:
    return error("address-outside-network", key)(
        what=f"{address} is not inside {network}",
        why="nobody on the network could reach it",
        remedy=f"write an address from {network[1]} to {network[-2]}{more}",
    )


def _twice(context: PlanContext) -> Iterator[Finding]:
    owners: dict[tuple[str, str], str] = {}
    keys = {member.name: member.key for member in context.layout.members}
    for name, network in context.plan.networks.items():
        if network.gateway:
            owners[name, network.gateway] = f"networks.{name}.gateway"
        cidr = IPv4Network(network.cidr)
        owners[name, str(cidr[0])] = owners[name, str(cidr[-1])] = f"networks.{name}.cidr"
        for rack in context.layout.written[name].racks:
            owners[name, gateway_of(context.layout, name, rack) or ""] = f"networks.{name}.racks.{rack}"
    clashes: list[tuple[str, str, str, str]] = []

    def claim(network: str, address: str | None, key: str) -> None:
        if address is None:
            return
        first = owners.setdefault((network, address), key)
        if first is not key:
            clashes.append((network, address, first, key))

    claim(context.plan.edge.network, context.plan.edge.address, "edge.address")
    if users := context.plan.edge.public:
        claim(users.network, users.address, "edge.public")
    oob = next((network.name for network in context.layout.by_purpose("oob")), "")
    for host in context.plan.hosts.values():
        key = f"{keys[host.name]} ({host.name})"
        for port in host.interfaces:
            claim(port.network, port.address, key)
        if host.bmc and oob:
            claim(oob, host.bmc["address"], f"{key} bmc")
    why = "two machines that answer for one address cut each other off"
    for network_name, address, first, second in clashes[:_SHOWN]:
        yield error("duplicate-address", first, second)(
            what=f"{address} on {network_name} is taken twice",
            why=why,
            remedy="write another address, or another offset for one of the groups",
        )
    if len(clashes) > _SHOWN:
        yield error("duplicate-address", "machines")(
            what=f"{len(clashes) - _SHOWN} further addresses are taken twice",
            why=why,
            remedy="two groups of one role need different offsets",
        )


def _edges(context: PlanContext) -> Iterator[Finding]:
    """Yield addresses ending in .0 or .255 inside larger networks: legal, and dropped by some filters."""
    plan = context.plan
    oob = {network.name: int(network.cidr.partition("/")[2]) for network in context.layout.by_purpose("oob")[:1]}
    found = []
    for host in plan.hosts.values():
        ports = [(port.network, port.address, port.prefix) for port in host.interfaces]
        ports += [(name, host.bmc["address"], prefix) for name, prefix in oob.items() if host.bmc]
        found += [
            f"{host.name} {address} on {name}"
            for name, address, prefix in ports
            if address and prefix < _WHOLE and address.endswith((".0", ".255"))
        ]
    if found:
        yield info("address-looks-like-a-network", "machines")(
            what=f"{few(found, most=3)}: legal in a network larger than a /{_WHOLE}",
            why="some filters, old switches and people take .0 for a network and .255 for a broadcast, and drop it",
            remedy="before the machines are installed: offset: 1 of their group, or another number or address of the "
            "machine. Of installed machines leave it: a new address takes them off the network",
        )
