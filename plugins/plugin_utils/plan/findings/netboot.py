"""Boot from network or virtual media: machines are known or can be discovered, and have a network."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from ....module_utils._base.text import few
from ..form import error, info, warning
from ..layout.context import PlanContext
from ..platform.metal import PROTOCOLS, from_network, pool_of, segments, to_discover
from ..types import Finding, HostPlan, NetworkPlan

LEAST = 5  # fewest addresses for unknown machines


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about networks and ports of machines installed from power-off."""
    dark = [host for host in context.plan.hosts.values() if host.provisioner == "ironic"]
    booting = [host for host in dark if from_network(host)]
    networks = context.layout.by_purpose("provisioning")
    if booting:
        yield from _network(context, networks, booting[0])
        for network in networks[:1]:
            yield from _tagged(network)
            lent = any(to_discover(host, context.plan.networks) for host in booting)
            for segment in segments(context.layout, network).values():
                yield from _pool(context, segment, lent)
            yield from _relays(context, network, {host.rack for host in booting})
        yield from _untold_ports(context, booting)
    yield from _without_network(context, dark)
    yield from _untold(context, dark)


def _network(context: PlanContext, networks: list[NetworkPlan], first: HostPlan) -> Iterator[Finding]:
    seed = context.plan.hosts.get(context.plan.supply.seed or "")
    if not networks:
        yield error("network-boot-without-network", "machines", "networks")(
            what=f"{first.name} boots from the network, and the site has no network provisioning",
            why="the seed answers DHCP on that network alone: another may have a DHCP server of its own",
            remedy="write networks.provisioning, or bmc: {protocol: redfish-virtual-media}",
        )
    elif seed and context.plan.metal and not context.plan.metal.netboot:
        yield error("network-boot-without-seed", f"networks.{networks[0].name}")(
            what=f"{seed.name} has no address on {networks[0].name}",
            why="nobody would answer machines that boot from it",
            remedy=f"write a wider networks.{networks[0].name}.cidr, or its ranges.seed",
        )


def _tagged(network: NetworkPlan) -> Iterator[Finding]:
    if network.vlan:
        yield warning("provisioning-tagged", f"networks.{network.name}.vlan")(
            what=f"{network.name} has VLAN {network.vlan}, and machines boot from it",
            why="firmware sends no tag, and the installed machine would: a port of the switch passes one of both",
            remedy="leave vlan out; make it the untagged (native) VLAN of the machines' ports on the switch",
        )


def _pool(context: PlanContext, network: NetworkPlan, lent: bool) -> Iterator[Finding]:
    hosts = context.plan.hosts.values()
    first, last = (IPv4Address(one) for one in pool_of(network, hosts))
    cidr, key = IPv4Network(network.cidr), f"networks.{network.name}.pool"
    if first not in cidr or last not in cidr:
        yield error("range-outside-network", key)(
            what=f"{first}-{last} is not inside {cidr}",
            why="a machine with such an address reaches nobody on the network",
            remedy=f"write addresses from {cidr[1]} to {cidr[-2]}",
        )
    if not lent:
        return
    taken = [
        host.name
        for host in hosts
        for port in host.interfaces
        if port.network == network.name and port.address and first <= IPv4Address(port.address) <= last
    ]
    if taken:
        yield error("pool-has-planned-addresses", key)(
            what=f"machines have addresses of {first}-{last}: {few(taken)}",
            why="machines that nobody knows are lent those: two would have one",
            remedy=f"write {key}: <first>-<last> where no machine has its own, or a wider {network.name}",
        )
    elif int(last) - int(first) < LEAST - 1:
        yield error("pool-too-small", key)(
            what=f"{max(0, int(last) - int(first) + 1)} addresses are left for machines that nobody knows",
            why="those that boot at once would wait for one another",
            remedy=f"write {key}: <first>-<last> with {LEAST} or more, or a wider {network.name}",
        )


def _relays(context: PlanContext, network: NetworkPlan, racks: set[str]) -> Iterator[Finding]:
    boot, key = context.plan.metal and context.plan.metal.netboot, f"networks.{network.name}.racks"
    if not boot or not boot.leaves:
        return
    if network.pools:
        yield error("pool-with-rack-subnets", f"networks.{network.name}.pool", key)(
            what=f"{network.name} has one pool beside subnets by rack",
            why="a machine that nobody knows is lent an address of its own rack's subnet",
            remedy="leave the pool out: the last eighth of each subnet is lent",
        )
    if leaves := [leaf for leaf in boot.leaves if leaf.rack in racks]:
        yield info("dhcp-relay-needed", key)(
            what=f"machines of {', '.join(leaf.rack for leaf in leaves)} boot from the network, and the seed is in "
            "another rack",
            why="DHCP does not cross a router by itself",
            remedy=f"have the router of each rack ({', '.join(leaf.gateway for leaf in leaves)}) relay DHCP to "
            f"{boot.address}, and know the way to {boot.seed_address}",
        )


def _without_network(context: PlanContext, dark: list[HostPlan]) -> Iterator[Finding]:
    """Yield machines whose management port has no MAC address while another port has one.

    Ports are found by MAC address: a boot medium's ramdisk has no other way. Discovered machines report their own.
    """
    networks = context.plan.networks
    for host in dark:
        if (host.bmc or {}).get("protocol") not in PROTOCOLS or from_network(host):
            continue
        known = [port for port in host.interfaces if port.mac]
        main = next((one for one in host.interfaces if networks[one.network].purpose == "management"), None)
        if known and main and not main.mac:
            key = f"machines.{host.group}.machines.{host.name}.ports.{main.network}.mac"
            yield error("management-port-without-mac", key)(
                what=f"{host.name} has a MAC address on {known[0].network} and none on {main.network}",
                why="a port is found by its MAC address: the machine would have no management network",
                remedy=f"write {key}",
            )


def _untold_ports(context: PlanContext, booting: list[HostPlan]) -> Iterator[Finding]:
    """Yield machines with more unknown ports than discovery tells apart: that of one network beside the boot port's."""
    networks = context.plan.networks
    for host in booting:
        told = {link.network for link in host.links}
        rest = [port.network for port in host.interfaces if not port.mac and port.network not in told]
        rest = [name for name in rest if networks[name].purpose != "provisioning"]
        if to_discover(host, networks) and len(rest) > 1:
            yield warning("discovery-needs-cabling", f"machines.{host.group}.wiring")(
                what=f"{host.name} is discovered, and nothing says which of its ports is on {', '.join(rest)}",
                why="discovery finds the port of one network, beside that the machine boots from: it is left alone",
                remedy="write wiring, with ports by the names they have: bonds, and the port or bond of each network",
            )


def _untold(context: PlanContext, dark: list[HostPlan]) -> Iterator[Finding]:
    """Yield installed machines without time servers or resolvers: neither the site file nor the seed provides them."""
    site = context.plan.host
    lacks = {
        "time server": [host.name for host in dark if not (site.ntp_servers or host.ntp_servers)],
        "resolver": [host.name for host in dark if not (site.dns_servers or host.dns_servers)],
    }
    if context.layout.profile.production and any(lacks.values()):
        yield warning("machines-without-servers", "hosts.dns_servers", "hosts.ntp_servers")(
            what="; ".join(f"machines without a {what}: {few(names)}" for what, names in lacks.items() if names),
            why="the site file names them, or the seed serves them on the network provisioning",
            remedy="write hosts.dns_servers and hosts.ntp_servers, or boot those machines from the network",
        )
