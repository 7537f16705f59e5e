"""How a machine comes to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Provisioner = Literal["existing", "container", "ironic"]
Approve = Literal["automatic", "ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionerRecord:
    """What follows from the way a machine is provisioned."""

    what: str
    own_kernel: bool = True
    host_key_written: bool = False  # whether the site file vouches for its ssh key; else it is learnt where it is made


PROVISIONERS: dict[Provisioner, ProvisionerRecord] = {
    "existing": ProvisionerRecord(what="installed and reachable", host_key_written=True),
    "container": ProvisionerRecord(what="a system container on the controller", own_kernel=False),
    "ironic": ProvisionerRecord(what="from power-off"),
}
