"""Check planned addresses, and the MTU on the way to other hosts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from .._host.probe import SMALL
from .._plan.preflight import Expected
from .links import holder
from .model import MachineFacts, PreflightFault

_COMPLETE = 2  # flag of an ARP entry with an answer


def addresses(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield planned addresses and interfaces that are missing, and interfaces that differ from the plan."""
    found = machine.links()
    for planned in wanted.interfaces:
        network, address = planned["network"], planned["address"]
        if not address:
            known = {name for link, state in found.items() for name in (link, *state.altnames)}
            if planned["name"] not in known and network not in wanted.unused_networks:
                yield PreflightFault(
                    "address", "error", f"there is no interface {planned['name']}, the plan's on {network}",
                    f"it has {', '.join(sorted(found))}",
                    f"write its name into networks.{network}.interface of the site file, or into ports of the machine",
                )  # fmt: skip
            continue
        severity = "warning" if network in wanted.unused_networks else "error"
        name = holder(found, address)
        if name is None:
            has = [f"{link} {one}" for link, state in found.items() for one in state.addresses if link != "lo"]
            later = ": a later version needs it" if severity == "warning" else ""
            yield PreflightFault(
                "address", severity, f"no interface has the planned address on {network}{later}",
                f"{address} is planned; it has {', '.join(has) or 'none'}",
                "give the interface that address, or write the machine's own address into the site file",
            )  # fmt: skip
            continue
        link = found[name]
        if link.addresses[address] != planned["prefix"]:
            yield PreflightFault(
                "address", "warning", f"the address on {network} has another prefix length than the plan's",
                f"{name}: {address}/{link.addresses[address]}, planned /{planned['prefix']}",
                f"correct the interface, or networks.{network}.cidr of the site file",
            )  # fmt: skip
        if not link.up:
            yield PreflightFault(
                "address", severity, f"the interface of {network} is down", name, "bring it up, at boot too"
            )
        if link.mtu < planned["mtu"]:
            yield PreflightFault(
                "mtu", severity, f"the interface of {network} has a smaller MTU than the plan's {planned['mtu']}",
                f"{name}: {link.mtu}", f"raise it on host and switch, or write networks.{network}.mtu: {link.mtu}",
            )  # fmt: skip


def ports(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield ports of the site file's cabling that the machine does not have."""
    found = machine.links()
    if lost := [name for name in wanted.ports if name not in found]:
        yield PreflightFault(
            "network", "error", f"there is no port {', '.join(lost)}, which the site file's cabling names",
            f"it has {', '.join(sorted(name for name in found if name != 'lo'))}",
            "correct the wiring of its hardware or group in the site file, or write nics of the machine",
        )  # fmt: skip


def answered(machine: MachineFacts, address: str, *, source: str) -> str:
    """Return who answers for ``address`` on the network of ``source``: a MAC address, "echo", or empty for nobody.

    A machine that ignores echoes still answers ARP.
    """
    try:
        lost = machine.echo(source).lost([address], size=SMALL)
    except OSError:
        lost = {address: "not asked"}
    for line in machine.read("/proc/net/arp").splitlines()[1:]:
        cells = line.split()
        if len(cells) > 3 and cells[0] == address and int(cells[2], 16) & _COMPLETE:
            return cells[3]
    return "" if address in lost else "echo"


def ranges(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield interfaces and routes of a new node inside the networks of pods and Services."""
    if machine.site == wanted.site or not wanted.node:
        return
    taken = [
        (name, IPv4Interface(f"{address}/{prefix}").network, True)
        for name, link in machine.links().items()
        for address, prefix in link.addresses.items()
    ]
    taken += [(name, network, False) for name, network in _routes(machine)]
    for key, cidr in wanted.ranges.items():
        inside = IPv4Network(cidr)
        # A wider route is no fault: the narrower one of pods wins. One to all Services only satisfies the kernel.
        ways = [one for one in taken if one[2] or not (key.endswith("service_cidr") and one[1] == inside)]
        found = {
            f"{name}: {network}"
            for name, network, own in ways
            if network.overlaps(inside) and (own or network.prefixlen >= inside.prefixlen)
        }
        if found:
            shown = ", ".join(sorted(found))
            yield PreflightFault(
                "ranges", "error", f"an interface or route of the host is inside {key}, {cidr}", shown,
                f"write another network into {key} of the site file, or take that interface or route away",
            )  # fmt: skip


def services(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield a new node without any way to Services: the kernel wants one before kube-proxy puts a pod in its place."""
    table, cidr = machine.read("/proc/net/route"), wanted.ranges.get("kubernetes.service_cidr", "")
    if machine.site == wanted.site or not (wanted.node and table and cidr):
        return
    default = any(cells[1:2] == ["00000000"] for cells in map(str.split, table.splitlines()[1:]))
    if not default and not any(IPv4Network(cidr).subnet_of(network) for _, network in _routes(machine)):
        yield PreflightFault(
            "ranges", "warning", f"the host has neither a default route nor one to Services, {cidr}", "/proc/net/route",
            f"ip route add {cidr} dev INTERFACE, and keep it at boot (manage_network: true does), or a default route",
        )  # fmt: skip


def _routes(machine: MachineFacts) -> Iterator[tuple[str, IPv4Network]]:
    """Yield interface and destination of each route but the default one."""
    for line in machine.read("/proc/net/route").splitlines()[1:]:
        cells = line.split()
        if len(cells) > 7 and int(cells[7], 16):
            address, mask = (bytes.fromhex(cells[number])[::-1] for number in (1, 7))
            yield cells[0], IPv4Interface((address, str(IPv4Address(mask)))).network


def frames(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield networks that lose packets of the planned size on the way to other hosts."""
    found = machine.links()
    for planned in wanted.interfaces:
        network, address = planned["network"], planned["address"]
        others = {*wanted.neighbours.get(network, ()), *wanted.control.get(network, ())} - {address}
        name = holder(found, address) if address else None
        if not others or name is None or found[name].mtu < planned["mtu"]:
            continue  # no host to ask, or already reported
        try:
            echo = machine.echo(address)
            lost = echo.lost(others, size=planned["mtu"])
            silent = echo.lost(lost, size=SMALL) if lost else {}
        except OSError as error:
            yield PreflightFault(
                "mtu", "warning", f"the MTU of {network} is not proven: no packet can be sent", str(error),
                "see whether the machine may open raw sockets",
            )  # fmt: skip
            continue
        cut = {host: why for host, why in lost.items() if host not in silent}
        if cut:
            # If a serving host reaches some hosts, the fault is on the others' side: do not set this one aside.
            spared = machine.serves(wanted) and len(cut) < len(others) - len(silent)
            severity = "warning" if spared or network in wanted.unused_networks else "error"
            yield PreflightFault(
                "mtu", severity, f"packets of {planned['mtu']} bytes are lost on {network}, small ones are not",
                ", ".join(f"{host}: {why}" for host, why in sorted(cut.items(), key=_numeric)),
                f"raise the MTU of every switch port on the way, or write a smaller networks.{network}.mtu", cut,
            )  # fmt: skip
        if silent:
            yield PreflightFault(
                "mtu", "warning", f"the MTU of {network} is not proven to hosts that answer no echo",
                ", ".join(sorted(silent, key=socket.inet_aton)),
                "see whether they run and let ICMP echo in; VLAN and cabling of that network",
            )  # fmt: skip


def _numeric(item: tuple[str, str]) -> bytes:
    return socket.inet_aton(item[0])
