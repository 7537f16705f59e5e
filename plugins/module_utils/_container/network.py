"""Create and remove a lab's bridges, network namespaces and veth pairs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from .._base.errors import GroundupError
from .._base.run import run
from .._plan.container import NetworkPlan
from .machine import NETNS, mounts_below
from .model import Interface, LabHost
from .names import Lab, id_prefix, link_alias, link_name, link_prefix, mac


def links() -> dict[str, dict[str, Any]]:
    """Return this machine's links by name, with addresses, as `ip` prints them."""
    return {link["ifname"]: link for link in _json("addr")}


def routes() -> list[dict[str, Any]]:
    """Return this machine's routes, as `ip` prints them."""
    return _json("route")


def _json(what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(["ip", "-j", what, "show"]) or "[]")
    return found


def bridge_faults(site: str, network: NetworkPlan, present: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the differences of the bridge of ``network`` from the plan."""
    link = present.get(link_name(site, network.name))
    if link is None:
        return ["missing"]
    faults = []
    if link["mtu"] != network.mtu:
        faults.append(f"mtu {link['mtu']}, not {network.mtu}")
    if "UP" not in link["flags"]:
        faults.append("down")
    addresses = {f"{item['local']}/{item['prefixlen']}" for item in link["addr_info"] if item["family"] == "inet"}
    own = _own_address(network)
    if addresses != ({own} if own else set()):
        faults.append(f"address {', '.join(sorted(addresses)) or 'none'}, not {own or 'none'}")
    return faults


def _own_address(network: NetworkPlan) -> str:
    """Return this machine's address on the bridge of ``network`` with its prefix length, "" without one."""
    return f"{network.gateway}/{network.cidr.partition('/')[2]}" if network.gateway else ""


def make_bridge(site: str, network: NetworkPlan, present: Mapping[str, Mapping[str, Any]]) -> None:
    """Create or correct the bridge of ``network``; its ports stay attached. Raises GroundupError."""
    name = link_name(site, network.name)
    steps = []
    if name not in present:
        _refuse_overlap(name, network, present)
        steps.append(f"link add {name} address {mac(site, network.name)} type bridge mcast_snooping 0")
    steps += [
        f"link set {name} mtu {network.mtu} alias {link_alias(site, network.name)} addrgenmode none up",
        f"addr flush dev {name}",
    ]
    if own := _own_address(network):
        steps.append(f"addr add {own} dev {name}")
    run(["ip", "-batch", "-"], stdin="\n".join(steps) + "\n")


def _refuse_overlap(name: str, network: NetworkPlan, present: Mapping[str, Mapping[str, Any]]) -> None:
    for other, link in present.items():
        if other != name and any(item["local"] == network.gateway for item in link["addr_info"]):
            raise GroundupError(
                f"network {network.name}: {network.gateway} is already an address of this machine",
                where=f"{other} ({link.get('ifalias', 'not a lab')})",
                why="two labs need different networks",
                remedy=f"write another networks.{network.name}.cidr in the site file",
            )


def namespaces(site: str) -> set[str]:
    """Return the names of the site's network namespaces, including dead ones from before a reboot."""
    return {path.name for path in NETNS.glob(f"{id_prefix(site)}*")} if NETNS.is_dir() else set()


def wired(lab: Lab, host: LabHost, present: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether each interface of ``host`` is attached to its bridge.

    Addresses are not checked: the host's own operating system manages them after its creation.
    """
    if lab.id(host.name) not in namespaces(lab.site):
        return False
    for interface in host.interfaces:
        link = present.get(link_name(lab.site, host.name, interface.name), {})
        if link.get("master") != link_name(lab.site, interface.network) or "UP" not in link.get("flags", ()):
            return False
    return True


def wire(lab: Lab, host: LabHost) -> Path:
    """Create the network namespace and all interfaces of ``host``; return its path. Raises GroundupError."""
    unwire(lab, host.name, {link_name(lab.site, host.name, interface.name) for interface in host.interfaces})
    name = lab.id(host.name)
    run(["ip", "netns", "add", name])
    outer, inner = [], ["link set lo up"]
    for interface in host.interfaces:
        link = link_name(lab.site, host.name, interface.name)
        address = interface.mac or mac(lab.site, host.name, interface.name)
        outer += [
            f"link add {link} mtu {interface.mtu} type veth"
            f" peer name {interface.name} mtu {interface.mtu} address {address} netns {name}",
            f"link set {link} master {link_name(lab.site, interface.network)} addrgenmode none"
            f" alias {link_alias(lab.site, host.name, interface.name)} up",
        ]
        inner += _inner(interface)
    run(["ip", "-batch", "-"], stdin="\n".join(outer) + "\n")
    run(["ip", "-n", name, "-batch", "-"], stdin="\n".join(inner) + "\n")
    for interface in host.interfaces:
        if not interface.offload:
            off = ("tx", "off", "sg", "off", "tso", "off", "gso", "off", "gro", "off")
            run(["ethtool", "-K", link_name(lab.site, host.name, interface.name), *off])
            run(["ip", "netns", "exec", name, "ethtool", "-K", interface.name, *off])
    return NETNS / name


def _inner(interface: Interface) -> list[str]:
    steps = [f"link set {interface.name} up"]
    if interface.address:
        steps.append(f"addr add {interface.address}/{interface.prefix} brd + dev {interface.name}")
    if interface.gateway:
        # Kubernetes needs a route for Services' virtual addresses before nftables rewrites them, even an unused one.
        steps.append(f"route add default via {interface.gateway} dev {interface.name}")
    return steps


def unwire(lab: Lab, host: str, planned: Collection[str] = ()) -> None:
    """Remove the network namespace of ``host`` and its links, both ``planned`` and existing ones."""
    mine = link_alias(lab.site, host, "")
    for name, link in links().items():
        if name in planned or link.get("ifalias", "").startswith(mine):
            _remove_link(name)  # the kernel removes it with the namespace, but later
    _remove_namespace(lab.id(host))


def links_of(site: str) -> list[str]:
    """Return the names of the site's links on this machine."""
    return sorted(name for name in links() if name.startswith(link_prefix(site)))


def remove_links(names: Iterable[str]) -> None:
    """Remove links from this machine, including those that went with the other end of a pair."""
    for name in names:
        _remove_link(name)


def remove_namespaces(site: str) -> None:
    for name in namespaces(site):
        _remove_namespace(name)


def drop_connections(peers: Iterable[str]) -> None:
    """Close this machine's TCP connections to ``peers``: addresses or networks that are being removed.

    Otherwise the next run would reuse a dead ssh connection and wait forever.
    """
    for peer in peers:
        run(["ss", "--kill", "--tcp", "dst", peer])


def _remove_link(name: str) -> None:
    try:
        run(["ip", "link", "delete", name])
    except GroundupError:
        if name in links():  # it may be gone with the other end of its pair
            raise


def _remove_namespace(name: str) -> None:
    path = NETNS / name
    if not path.exists():
        return
    try:
        run(["ip", "netns", "delete", name])
    except GroundupError:
        # With /run on disk, a reboot leaves a plain file here that is not a mount.
        if mounts_below(path):
            raise
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
