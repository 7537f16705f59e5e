"""Inventory collector for Ironic's agent: the contents of a machine's disks. Used disks need an approval."""

from __future__ import annotations

import json
from typing import Any

from ironic_python_agent import utils  # of the ramdisk's environment

FIELDS = "NAME,TYPE,SIZE,PTTYPE,FSTYPE,LABEL,PARTLABEL,UUID,PTUUID"


def collect(data: dict[str, Any], failures: Any) -> None:
    """Add the disks' partition tables and file systems to the inventory."""
    try:
        shown, _ = utils.execute("lsblk", "--json", "--bytes", "--output", FIELDS)
        data["groundup_disks"] = [one for one in json.loads(shown)["blockdevices"] if one["type"] == "disk"]
    except Exception as error:  # noqa: BLE001  # else there would be no inventory at all
        failures.add("lsblk: %s", error)
