"""Provisioners: how a machine gets its operating system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Provisioner = Literal["existing", "container", "ironic"]
Approve = Literal["automatic", "ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionerRecord:
    """What follows from a machine's provisioner."""

    what: str
    own_kernel: bool = True
    host_key_written: bool = False  # its ssh host key: in the site file, else recorded when it is made


PROVISIONERS: dict[Provisioner, ProvisionerRecord] = {
    "existing": ProvisionerRecord(what="installed and reachable", host_key_written=True),
    "container": ProvisionerRecord(what="a system container on the control node", own_kernel=False),
    "ironic": ProvisionerRecord(what="from power-off"),
}
