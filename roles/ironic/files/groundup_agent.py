"""A collector of Ironic's agent: what is on a machine's disks. Used ones are not written over unasked."""

from __future__ import annotations

import json
from typing import Any

from ironic_python_agent import utils  # of the ramdisk's environment

FIELDS = "NAME,TYPE,SIZE,PTTYPE,FSTYPE,LABEL,PARTLABEL,UUID,PTUUID"


def collect(data: dict[str, Any], failures: Any) -> None:
    """Put partition tables and file systems into what the ramdisk tells of its machine."""
    try:
        shown, _ = utils.execute("lsblk", "--json", "--bytes", "--output", FIELDS)
        data["groundup_disks"] = [one for one in json.loads(shown)["blockdevices"] if one["type"] == "disk"]
    except Exception as error:  # noqa: BLE001  # whatever it is, the machine is told of without its disks
        failures.add("lsblk: %s", error)
