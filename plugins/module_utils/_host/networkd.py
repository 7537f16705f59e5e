"""Generate systemd-networkd's files for a host's links: for the first boot and for the host layer.

Pure, and imports only Python's library: the controller also writes the files to configuration drives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_interface
from typing import Any

PREFIX = "10-groundup-"  # of every file of ours; sorts before networkd's own and most others
HEADER = "# Written by groundup.cloud.\n"
_BEHIND = 4096  # metric of a route that another one precedes
_HASH = "layer3+4"  # of a bond: several connections between two hosts use several ports


def files(links: Sequence[Mapping[str, Any]], *, dns: Sequence[str] = ()) -> dict[str, str]:
    """Return the files' texts by name. ``links`` are the plan's; a link comes after those it is built on.

    A port is matched by its permanent MAC address: a bond gives one address to all its members, and VLANs take that of
    their link. Without a known MAC it is matched by name. The link with the default route gets the resolvers (``dns``).
    """
    found = {}
    for link in links:
        for kind, text in _texts(link, links, dns):
            found[f"{PREFIX}{link['name']}.{kind}"] = HEADER + text
    return found


def devices(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the devices that networkd creates from ``texts``, by name; they go when their file is removed."""
    ends = {name: text for name, text in texts.items() if name.endswith(".netdev")}
    return {name.removeprefix(PREFIX).removesuffix(".netdev"): text for name, text in ends.items()}


def _texts(
    link: Mapping[str, Any], links: Sequence[Mapping[str, Any]], dns: Sequence[str]
) -> Iterator[tuple[str, str]]:
    name, mac = link["name"], link["mac"]
    by_mac = link["kind"] == "port" and mac
    if by_mac and link["rename"]:
        # This file replaces the OS's own rule: keep the alternative names.
        own = {"Name": name, "AlternativeNamesPolicy": "database onboard slot path"}
        yield "link", _ini(("Match", {"PermanentMACAddress": mac}), ("Link", own))
    if link["kind"] != "port":
        yield "netdev", _ini(*_netdev(link))
    master = next((one for one in links if name in one["members"]), None)
    network: dict[str, Any] = {"LinkLocalAddressing": "no", "IPv6AcceptRA": "no"}
    if master:
        network["Bond" if master["kind"] == "bond" else "Bridge"] = master["name"]
        network["PrimarySlave"] = "yes" if master["primary"] == name else None
    elif link["network"] and not link["address"]:
        network["KeepMaster"] = "yes"  # Open vSwitch owns it
    network["VLAN"] = [one["name"] for one in links if one["parent"] == name]
    network["Address"] = None if link["route_mtu"] else link["address"]
    network["DNS"] = list(dns) if link is _asks(links, dns) else None
    # Keep foreign addresses and routes: keepalived's, and those of pods.
    network["KeepConfiguration"] = "static" if link["address"] else None
    waited = link["address"] or master
    yield (
        "network",
        _ini(
            ("Match", {"PermanentMACAddress": mac} if by_mac else {"Name": name}),
            ("Link", {"MTUBytes": link["mtu"], "RequiredForOnline": None if waited else "no"}),
            ("Network", network),
            *_smaller(link),
            *(("Route", _way(to, by, link["route_mtu"])) for to, by in link["routes"]),
        ),
    )


def _way(to: str, gateway: str, mtu: int | None) -> Mapping[str, Any]:
    return {"Destination": to, **({"Gateway": gateway} if gateway else {"Scope": "link"}), "MTUBytes": mtu}


def _asks(links: Sequence[Mapping[str, Any]], dns: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the link by which resolvers are asked: the default route's, else one whose network holds one, else any."""
    ways = [one for one in links if any(to == "0.0.0.0/0" for to, _ in one["routes"])]
    own = [one for one in links if one["address"]]
    near = [one for one in own if any(ip_address(server) in ip_interface(one["address"]).network for server in dns)]
    return next(iter([*ways, *near, *own]), None)


def _smaller(link: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the address of a network with a smaller MTU than its link: by its routes, which also bound what peers send.

    The kernel's own route to the network has no MTU, and comes after ours by its metric.
    """
    if link["route_mtu"]:
        near = ip_interface(link["address"])
        yield "Address", {"Address": link["address"], "RouteMetric": _BEHIND}
        way = {"Destination": near.network, "Scope": "link", "PreferredSource": near.ip, "MTUBytes": link["route_mtu"]}
        yield "Route", way


def _netdev(link: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    own = {"Name": link["name"], "Kind": link["kind"], "MTUBytes": link["mtu"], "MACAddress": link["mac"]}
    yield "NetDev", own
    if link["kind"] == "vlan":
        yield "VLAN", {"Id": link["vlan"]}
    elif link["kind"] == "bridge":
        yield "Bridge", {"STP": "no"}
    elif link["mode"] == "802.3ad":
        # When the switch sends no LACP, the kernel continues with one port.
        hashed = {"TransmitHashPolicy": _HASH, "LACPTransmitRate": link["lacp_rate"], "MIIMonitorSec": "100ms"}
        yield "Bond", {"Mode": link["mode"], **hashed}
    else:
        yield "Bond", {"Mode": link["mode"], "MIIMonitorSec": "100ms"}


def _ini(*sections: tuple[str, Mapping[str, Any]]) -> str:
    parts = []
    for name, values in sections:
        lines = [f"[{name}]"]
        for key, value in values.items():
            many = value if isinstance(value, list) else [value]
            lines += [f"{key}={one}" for one in many if one is not None]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
