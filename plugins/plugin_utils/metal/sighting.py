"""Parse a machine's inventory from its ramdisk. The data is untrusted: any machine on the network can send it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any

from ...module_utils._base.identifiers import is_filler, mac, scope
from ...module_utils._base.text import printable
from .disks import Disk, number, read_disk

APPROVED, APPROVED_DISKS = "groundup_approved", "groundup_approved_disks"  # in a node's `extra`
# Drivers of USB: the port that a management controller shows its machine has one MAC address on all of a model.
_USB = re.compile(r"(cdc|rndis|usb)[_-]?\w*|r8152|asix|ax88179_178a|ipheth", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One network port."""

    name: str
    mac: str
    carrier: bool
    gbps: float | None  # None: unknown
    odd: str = ""  # why it neither identifies its machine nor has one of the plan's networks; "" when it may


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One discovered machine."""

    node: str  # Ironic's id
    serial: str  # empty: none, or a placeholder
    bmc: str  # what it says of its controller's address; empty: nothing
    boots: str  # MAC address of the port it booted from
    nics: tuple[Nic, ...]
    odd: tuple[Nic, ...] = ()  # ports that identify nobody
    shared: str = (
        ""  # its serial number, boot port's MAC address or controller, if another machine has it, too; and which
    )
    disks: tuple[Disk, ...]
    cores: int
    memory_mib: int
    approved: str = ""  # name of the machine that it was approved as
    approved_disks: tuple[str, ...] = ()  # contents that were approved

    @property
    def macs(self) -> frozenset[str]:
        """The MAC addresses of its ports."""
        return frozenset(nic.mac for nic in self.nics)

    @property
    def used(self) -> str:
        """The contents of its used disks in one line, "" when none is used."""
        return "; ".join(f"{disk.name}: {disk.used}" for disk in self.disks if disk.used)

    @property
    def contents(self) -> tuple[str, ...]:
        """The contents that an installation would overwrite, one line for each used disk."""
        return tuple(disk.content for disk in self.disks if disk.used)

    @property
    def shown(self) -> str:
        """The object of an approval: the node, and a digest of its disks' contents."""
        return f"{self.node}/{hashlib.sha256(chr(10).join(sorted(self.contents)).encode()).hexdigest()[:16]}"

    def approval(self, name: str) -> dict[str, Any]:
        """Return the fields of a node's `extra` that record its approval as machine ``name``."""
        return {APPROVED: name, APPROVED_DISKS: list(self.contents)}

    def __str__(self) -> str:
        disks = " and ".join(f"{disk.gib} GiB" for disk in self.disks) or "no disk"
        return (
            f"serial {self.serial or 'unknown'}, {self.boots}, {self.cores} cores, {self.memory_mib / 1024:.1f} GiB, "
            f"{len(self.nics)} ports, {disks}"
            f"{''.join(f', not counted: {printable(nic.name)[:32]} ({nic.odd})' for nic in self.odd[:2])}"
        )


def read(node: Mapping[str, Any], told: Mapping[str, Any]) -> Sighting:
    """Parse ``told``, the inventory of ``node`` from Ironic's API. Raises ValueError when it is invalid."""
    try:
        inventory, more = told["inventory"], told.get("plugin_data") or {}
        ports = tuple(_nic(one) for one in inventory["interfaces"] if one["mac_address"])
        nics = tuple(port for port in ports if not port.odd)
        partitions = {str(one.get("name")): one for one in more.get("groundup_disks") or ()}
        vendor = inventory.get("system_vendor") or {}
        serial = printable(" ".join(str(vendor.get("serial_number") or "").split()))[:64]
        boots = (inventory.get("boot") or {}).get("pxe_interface")
        bmc, extra = str(inventory.get("bmc_address") or ""), node.get("extra") or {}
        return Sighting(
            node=str(node["uuid"]),
            serial="" if is_filler(serial) else serial,
            bmc=_controller(bmc),
            boots=mac(boots) if boots else (nics or ports)[0].mac,
            nics=nics,
            odd=tuple(port for port in ports if port.odd),
            disks=tuple(read_disk(one, partitions) for one in inventory.get("disks") or ()),
            cores=number((inventory.get("cpu") or {}).get("count")),
            memory_mib=number((inventory.get("memory") or {}).get("physical_mb")),
            approved=str(extra.get(APPROVED) or ""),
            approved_disks=tuple(extra.get(APPROVED_DISKS) or ()),
        )
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"its inventory is none: {type(error).__name__} {error}") from None


def _controller(said: str) -> str:
    """Return a controller's address in its one notation, "" for a controller without an address."""
    with suppress(ValueError):
        found = ip_address(said.strip())
        found = (found.ipv4_mapped if isinstance(found, IPv6Address) else None) or found
        return "" if found.is_unspecified else str(found)
    return said


def _nic(one: Mapping[str, Any]) -> Nic:
    speed, address = one.get("speed_mbps"), mac(one["mac_address"])
    return Nic(
        name=str(one.get("name")),
        mac=address,
        carrier=bool(one.get("has_carrier")),
        gbps=number(speed) / 1000 if isinstance(speed, int) and speed > 0 else None,
        odd=_odd(one, address),
    )


def _odd(one: Mapping[str, Any], address: str) -> str:
    """Return why a port identifies nobody, "" when it may: the agent reports the PCI vendor of each port."""
    kind = scope(address)
    if kind in ("nobody", "group"):
        return f"{kind}'s MAC address"
    if _USB.fullmatch(str(one.get("driver") or "")):
        return "USB"
    if "vendor" in one and not one["vendor"]:
        return "USB or virtual" if not kind else "no PCI device, and a MAC address of no vendor"
    try:
        return "a link-local address" if ip_address(str(one.get("ipv4_address"))).is_link_local else ""
    except ValueError:
        return ""
