"""Quirks of vendors' management controllers, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirk:
    """One vendor's deviation, and its handling."""

    vendor: str  # pattern of Redfish's Manufacturer, which Ironic stores once it has asked the controller
    why: str
    node: Mapping[str, str] = field(default_factory=dict)  # fields of Ironic's node
    boot: Mapping[str, str] = field(default_factory=dict)  # common boot interface -> the vendor's own
    pause: float = 0.0  # seconds before another attempt, while it refuses power commands


QUIRKS = (
    Quirk(
        vendor=r"^Dell\b",
        why="newer ones boot virtual media by an action of their own; iDRAC 10 refuses power for a minute after off",
        node={"driver": "idrac", "management_interface": "idrac-redfish", "power_interface": "idrac-redfish"},
        boot={"redfish-virtual-media": "idrac-redfish-virtual-media"},
        pause=75.0,
    ),
)


def quirk_of(node: Mapping[str, Any]) -> Quirk | None:
    """Return the quirk of a node's controller, None without one."""
    vendor = str((node.get("properties") or {}).get("vendor") or "")
    return next((quirk for quirk in QUIRKS if re.search(quirk.vendor, vendor)), None)


def changes_for(node: Mapping[str, Any], *, boot: str) -> dict[str, str]:
    """Return the changes to ``node`` for its controller's quirk; ``boot``: its common boot interface."""
    quirk = quirk_of(node)
    if quirk is None or node.get("driver") == quirk.node.get("driver"):
        return {}
    return {f"/{name}": value for name, value in {**quirk.node, "boot_interface": quirk.boot.get(boot, boot)}.items()}


def boot_of(node: Mapping[str, Any], boot: str) -> str:
    """Return the boot interface of ``node`` under its present driver, for the common one ``boot``."""
    driven = [quirk for quirk in QUIRKS if node.get("driver") == quirk.node.get("driver")]
    return driven[0].boot.get(boot, boot) if driven else boot


def pause_before(node: Mapping[str, Any]) -> float:
    """Return the seconds to wait before another attempt of ``node``: 0 unless a power command failed."""
    quirk, error = quirk_of(node), str(node.get("last_error") or "")
    power = re.search(r"\bpower\b", error, re.IGNORECASE)
    return quirk.pause if quirk and node.get("provision_state") == "deploy failed" and power else 0.0
