"""Parse a machine's inventory from its ramdisk. The data is untrusted: any machine on the network can send it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any

from ...module_utils._base.text import printable
from .disks import Disk, number, read_disk

APPROVED, APPROVED_DISKS = "groundup_approved", "groundup_approved_disks"  # in a node's `extra`
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5,19}")
# Placeholders of firmwares for a serial number.
_NO_SERIAL = {
    "", "0", "none", "unknown", "n/a", "not specified", "not applicable", "default string", "system serial number",
    "to be filled by o.e.m.", "123456789", "0123456789", "1234567890",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One network port."""

    name: str
    mac: str
    carrier: bool
    gbps: float | None  # None: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One discovered machine."""

    node: str  # Ironic's id
    serial: str  # empty: none, or a placeholder
    bmc: str  # empty: unknown
    boots: str  # MAC address of the port it booted from
    nics: tuple[Nic, ...]
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
        )


def read(node: Mapping[str, Any], told: Mapping[str, Any]) -> Sighting:
    """Parse ``told``, the inventory of ``node`` from Ironic's API. Raises ValueError when it is invalid."""
    try:
        inventory, more = told["inventory"], told.get("plugin_data") or {}
        nics = tuple(_nic(one) for one in inventory["interfaces"] if one["mac_address"])
        partitions = {str(one.get("name")): one for one in more.get("groundup_disks") or ()}
        vendor = inventory.get("system_vendor") or {}
        serial = printable(" ".join(str(vendor.get("serial_number") or "").split()))[:64]
        boots = (inventory.get("boot") or {}).get("pxe_interface")
        bmc, extra = str(inventory.get("bmc_address") or ""), node.get("extra") or {}
        return Sighting(
            node=str(node["uuid"]),
            serial="" if serial.lower() in _NO_SERIAL else serial,
            bmc=_controller(bmc),
            boots=_mac(boots) if boots else nics[0].mac,
            nics=nics,
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


def _mac(said: object) -> str:
    """Normalize a MAC address, which becomes a file name. Raises ValueError when it is invalid."""
    found = str(said).lower()
    if not _MAC.fullmatch(found):
        raise ValueError(f"{found[:40]!r} is no MAC address")
    return found


def _nic(one: Mapping[str, Any]) -> Nic:
    speed = one.get("speed_mbps")
    return Nic(
        name=str(one.get("name")),
        mac=_mac(one["mac_address"]),
        carrier=bool(one.get("has_carrier")),
        gbps=number(speed) / 1000 if isinstance(speed, int) and speed > 0 else None,
    )
