"""What machines tell of themselves, as the tests of discovery have it."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import Sighting, read

BOOT, OTHER = "52:54:00:00:00:{:02x}", "52:54:00:00:01:{:02x}"
USED: dict[str, Any] = {
    "name": "vda",
    "type": "disk",
    "pttype": "gpt",
    "children": [{"name": "vda1", "fstype": "ntfs", "label": "C"}],
}


def told(number: int, **more: Any) -> dict[str, Any]:
    """Return an inventory as Ironic's API gives it: two ports, a disk that nobody used."""
    nics = [
        {"name": name, "mac_address": mac.format(number), "has_carrier": True, "speed_mbps": more.pop("speed", None)}
        for name, mac in (("ens1", BOOT), ("ens2", OTHER))
    ]
    disks = [{"name": "/dev/vda", "size": more.pop("gib", 12) * 2**30}]
    inventory = {
        "interfaces": nics, "disks": disks, "cpu": {"count": more.pop("cores", 2), "architecture": "x86_64"},
        "memory": {"physical_mb": more.pop("memory", 2560)}, "boot": {"pxe_interface": BOOT.format(number)},
        "system_vendor": {"serial_number": more.pop("serial", f"S{number}")}, "bmc_address": more.pop("bmc", None),
    }  # fmt: skip
    inventory |= more.pop("inventory", {})
    return {"inventory": inventory, "plugin_data": {"groundup_disks": [{"name": "vda", "type": "disk"}], **more}}


def seen(number: int, *, approved: str = "", **more: Any) -> Sighting:
    """Return such a machine as it is matched; ``approved``: as which machine of the site, with what is on its disks."""
    node = {"uuid": f"node-{number}"}
    extra = read(node, told(number, **more)).approval(approved) if approved else {}
    return read({**node, "extra": extra}, told(number, **more))
