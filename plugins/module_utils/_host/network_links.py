"""Compare a host's links with the plan: missing ports, differences, other network managers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

from .._base import files
from .._base.errors import GroundupError
from .._base.run import attempt, run
from . import networkd
from .network_owner import NETWORK_MANAGER, WHY, owner

ROOT = Path("/")
OURS = Path("/etc/systemd/network")
DELETE, FLUSH, DROP = "address delete", "route flush exact", "route delete"  # words of ip
_ADDRESS = re.compile(r"^Address=(.*)$", re.MULTILINE)
_ROUTE = re.compile(r"^Destination=(.*)\nGateway=(.*)(?:\nMTUBytes=(.*))?$", re.MULTILINE)
_NEAR = re.compile(r"^Destination=(.*)\nScope=link(?:\nPreferredSource=(.*))?(?:\nMTUBytes=(.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Links:
    """Links, addresses and routes of this host."""

    by_name: Mapping[str, Mapping[str, Any]]
    routes: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def read(cls) -> Links:
        """Read them from the kernel. Raises GroundupError."""
        shown = json.loads(run(["ip", "-json", "-details", "address", "show"]) or "[]")
        routes = json.loads(run(["ip", "-json", "-4", "route", "show"]) or "[]")
        return cls({link["ifname"]: link for link in shown if "ifname" in link}, routes)

    def all(self) -> Iterator[Mapping[str, Any]]:
        """Yield every link."""
        yield from self.by_name.values()

    def of(self, planned: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the link of this host that is ``planned``; None when it does not exist."""
        name = planned["name"]
        if planned["kind"] != "port":
            return self.by_name.get(name)
        # Software made links with a kind: a dummy or tap may have the address of a port. A container's ports are veth.
        kinds = {one["ifname"]: one.get("linkinfo", {}).get("info_kind") or "" for one in self.all()}
        made = [one for one in self.all() if kinds[one["ifname"]] in ("", "veth")]

        def named(one: Mapping[str, Any]) -> bool:
            return name in (one["ifname"], *one.get("altnames", ()))

        if not planned["mac"]:
            return self.by_name.get(name) or next(filter(named, made), None)
        mac = planned["mac"].lower()
        # A paravirtual port and the function of a card below it share one address; the lower one has a master.
        made.sort(key=lambda one: (kinds[one["ifname"]], not named(one), "master" in one))
        # A bond sets its own MAC address on its members; the kernel still shows theirs as permaddr.
        return next((one for one in made if one.get("permaddr", one.get("address", "")).lower() == mac), None)

    def said_by(self, texts: Mapping[str, str]) -> set[tuple[str, str]]:
        """Return the addresses and routes in networkd's files, as ip's arguments to remove them: verb and object."""
        found = set()
        for text in texts.values():
            mac, name = (_value(key, text) for key in ("PermanentMACAddress", "Name"))
            link = self.of({"kind": "port", "mac": mac, "name": name or ""}) if mac else {"ifname": name}
            if not link or "[Network]" not in text:
                continue
            device = link["ifname"]
            found |= {(DELETE, f"{one} dev {device}") for one in _ADDRESS.findall(text)}
            for to, gateway, mtu in _ROUTE.findall(text):
                way = f"{to} via {gateway} dev {device}"
                found.add((DROP, f"{way} mtu {mtu}") if mtu else (FLUSH, way))
            # networkd keeps such a route beside the one that comes in its place.
            for to, source, mtu in _NEAR.findall(text):
                more = (f" src {source}" if source else "") + (f" mtu {mtu}" if mtu else "")
                found.add((DROP, f"{to} dev {device} scope link{more}"))
        return found

    def elsewhere(self, planned: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return this host's addresses that are ``planned``, on any device."""
        wanted = {what.partition(" ")[0] for verb, what in planned if verb == DELETE}
        return {
            (DELETE, f"{one} dev {link['ifname']}")
            for link in self.all()
            for one in addresses_of(link)
            if one in wanted
        }


def _value(key: str, text: str) -> str | None:
    found = re.search(rf"^{key}=(.*)$", text, re.MULTILINE)
    return found.group(1) if found else None


def addresses_of(link: Mapping[str, Any]) -> list[str]:
    """Return the IPv4 addresses of ``link``, with prefix lengths."""
    return [f"{one['local']}/{one['prefixlen']}" for one in link.get("addr_info", ()) if one["family"] == "inet"]


def missing_ports(planned: Sequence[Mapping[str, Any]], links: Links) -> None:
    """Raise GroundupError when the host lacks a planned port."""
    lost = [one["mac"] or one["name"] for one in planned if one["kind"] == "port" and not links.of(one)]
    if lost:
        has = [f"{one['ifname']} {one.get('permaddr', one.get('address', ''))}" for one in links.all()]
        raise GroundupError(
            f"the host has no port {', '.join(lost)}",
            where=f"it has {'; '.join(one for one in has if not one.startswith('lo '))}",
            why="the plan's addresses would be on no link, and the host out of reach",
            remedy="correct nics, ports or wiring of the machine in the site file, or its cabling",
        )


def _text(name: str) -> str:
    return files.read(ROOT / name.lstrip("/")) or ""


def _names(name: str) -> list[str]:
    return sorted(path.name for path in (ROOT / name.lstrip("/")).glob("*"))


def other_owner() -> None:
    """Raise GroundupError when another program manages the host's network."""
    found, remedy = owner(_text, _names, active=attempt(list(NETWORK_MANAGER)).stdout)
    if found:
        raise GroundupError(
            f"the host's network is run by {found}",
            where="machines.<group>.manage_network of the site file",
            why=WHY,
            remedy=f"{remedy}, then run this again; or leave manage_network out",
        )
    earlier = [path.name for path in sorted(OURS.glob("*.network")) if path.name < networkd.PREFIX]
    if earlier:
        raise GroundupError(
            f"files that are not ours come first for systemd-networkd: {', '.join(earlier)}",
            where=str(OURS),
            why="the first file that fits a link decides: ours may have no effect",
            remedy="move them away, or leave manage_network out",
        )


def differences(planned: Sequence[Mapping[str, Any]], links: Links) -> list[str]:
    """Return the differences from the plan, one line each."""
    found = []
    for one in planned:
        link = links.of(one)
        if link is None:
            found.append(f"there is no {one['kind']} {one['name']}")
            continue
        if link["mtu"] != one["mtu"]:
            found.append(f"{link['ifname']} has MTU {link['mtu']}, not {one['mtu']}")
        if one["address"] and one["address"] not in addresses_of(link):
            found.append(f"{link['ifname']} lacks {one['address']}")
        for member in (other for other in planned if other["name"] in one["members"]):
            below = links.of(member)
            if below and below.get("master") != link["ifname"]:
                found.append(f"{below['ifname']} is not in {link['ifname']}")
        found += _ways(one, link["ifname"], links)
    return found


def _mtu(mtu: int | None) -> str:
    return f"MTU {mtu}" if mtu else "its link's MTU"


def _ways(planned: Mapping[str, Any], device: str, links: Links) -> Iterator[str]:
    """Yield routes that are missing, or have another MTU; of several to one destination the kernel takes the first."""
    first: dict[tuple[str, str], int | None] = {}
    for route in links.routes:
        mtu = next((one["mtu"] for one in route.get("metrics", ()) if "mtu" in one), None)
        first.setdefault((route["dst"], route.get("gateway") or f"dev {route.get('dev')}"), mtu)
    wanted = [("default" if to == "0.0.0.0/0" else to, gateway or f"dev {device}") for to, gateway in planned["routes"]]
    if planned["route_mtu"]:
        wanted.append((str(ip_interface(planned["address"]).network), f"dev {device}"))
    for to, way in wanted:
        if (to, way) not in first:
            yield f"no route to {to} by {way}"
        elif first[to, way] != planned["route_mtu"]:
            yield f"the route to {to} by {way} has {_mtu(first[to, way])}, not {_mtu(planned['route_mtu'])}"
