"""What vendors' management controllers do differently, as data: by what a controller says of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirk:
    """One vendor's way, and what follows from it."""

    vendor: str  # a pattern of Redfish's Manufacturer, which Ironic keeps when it has asked a controller
    why: str
    node: Mapping[str, str] = field(default_factory=dict)  # fields of Ironic's node
    boot: Mapping[str, str] = field(default_factory=dict)  # the vendor's own boot interface, for a common one
    pause: float = 0.0  # seconds before another attempt: it refuses power for a while


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
    """Return the quirk of a node's controller, None when it has none that is known."""
    vendor = str((node.get("properties") or {}).get("vendor") or "")
    return next((quirk for quirk in QUIRKS if re.search(quirk.vendor, vendor)), None)


def changes_for(node: Mapping[str, Any], *, boot: str) -> dict[str, str]:
    """Return what is to change of ``node`` by the quirk of its controller; ``boot``: its boot interface without one."""
    quirk = quirk_of(node)
    if quirk is None or node.get("driver") == quirk.node.get("driver"):
        return {}
    return {f"/{name}": value for name, value in {**quirk.node, "boot_interface": quirk.boot.get(boot, boot)}.items()}


def boot_of(node: Mapping[str, Any], boot: str) -> str:
    """Return the boot interface of ``node`` as it is driven now, for the common one ``boot``."""
    driven = [quirk for quirk in QUIRKS if node.get("driver") == quirk.node.get("driver")]
    return driven[0].boot.get(boot, boot) if driven else boot


def pause_before(node: Mapping[str, Any]) -> float:
    """Return how long another attempt of ``node`` waits, in seconds: not at all when power was not what failed."""
    quirk, error = quirk_of(node), str(node.get("last_error") or "")
    power = re.search(r"\bpower\b", error, re.IGNORECASE)
    return quirk.pause if quirk and node.get("provision_state") == "deploy failed" and power else 0.0
