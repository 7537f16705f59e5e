"""systemd-networkd's files for a host's links: the one place that words them, for a first boot and for the host layer.

Pure, and imports nothing but Python: the controller writes what it returns onto configuration drives, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PREFIX = "10-groundup-"  # of every file of ours; before what networkd itself and most others write
HEADER = "# Written by groundup.cloud.\n"
_HASH = "layer3+4"  # of a bond: two hosts that speak on several connections use several ports


def files(links: Sequence[Mapping[str, Any]], *, dns: Sequence[str] = ()) -> dict[str, str]:
    """Return the files' texts by name. ``links`` are the plan's, those a link stands on before it.

    A port is found by its permanent MAC address, because a bond gives all its members one, and VLANs have their
    link's; where none is known, by its name. Resolvers (``dns``) stand at the link with the default route.
    """
    found = {}
    for link in links:
        for kind, text in _texts(link, links, dns):
            found[f"{PREFIX}{link['name']}.{kind}"] = HEADER + text
    return found


def devices(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the devices that networkd makes by files' ``texts``, by name: those that go when their file does."""
    ends = {name: text for name, text in texts.items() if name.endswith(".netdev")}
    return {name.removeprefix(PREFIX).removesuffix(".netdev"): text for name, text in ends.items()}


def _texts(
    link: Mapping[str, Any], links: Sequence[Mapping[str, Any]], dns: Sequence[str]
) -> Iterator[tuple[str, str]]:
    name, mac = link["name"], link["mac"]
    by_mac = link["kind"] == "port" and mac
    if by_mac and link["rename"]:
        # It takes the place of the OS's own rule: the other names stay.
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
        network["KeepMaster"] = "yes"  # Open vSwitch takes it
    network["VLAN"] = [one["name"] for one in links if one["parent"] == name]
    network["Address"] = link["address"]
    default = any(destination == "0.0.0.0/0" for destination, _ in link["routes"])
    network["DNS"] = list(dns) if default else None
    # Foreign addresses and routes stay: keepalived's, and those of pods.
    network["KeepConfiguration"] = "static" if link["address"] else None
    waited = link["address"] or master
    yield (
        "network",
        _ini(
            ("Match", {"PermanentMACAddress": mac} if by_mac else {"Name": name}),
            ("Link", {"MTUBytes": link["mtu"], "RequiredForOnline": None if waited else "no"}),
            ("Network", network),
            *(("Route", {"Destination": to, "Gateway": gateway}) for to, gateway in link["routes"]),
        ),
    )


def _netdev(link: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    own = {"Name": link["name"], "Kind": link["kind"], "MTUBytes": link["mtu"], "MACAddress": link["mac"]}
    yield "NetDev", own
    if link["kind"] == "vlan":
        yield "VLAN", {"Id": link["vlan"]}
    elif link["kind"] == "bridge":
        yield "Bridge", {"STP": "no"}
    elif link["mode"] == "802.3ad":
        # With a partner that is silent the kernel goes on with one port.
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
