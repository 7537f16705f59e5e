"""Ask a management controller whose it is, before a verb switches its machine off and erases it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...module_utils._base.identifiers import is_filler
from ...module_utils._base.text import few
from ..errors import GroundupError
from ..plan.types import HostPlan, Plan
from .api import Ironic
from .cards import not_its_own
from .controller import Controller, asked
from .documents import driver_info
from .identity import identities
from .match import MachineIdentity
from .sighting import Nic, Sighting, read

SILENT = "controller-silent"
_CREDENTIALS = "bmc/default"  # of a machine that left the site file


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A machine that a verb is to power off, and the operator's options that accept a risk."""

    name: str
    accepted: bool  # that nobody confirms it
    accepting: Callable[[str], str]


def confirm(
    plan: Plan, ironic: Ironic, node: Mapping[str, Any], about: Question, *, home: Path, password: Callable[[str], str]
) -> dict[str, Any]:
    """Return how Ironic is to reach the controller of ``node``, which has confirmed that the machine is its own.

    ``home``: directory of identities. ``password``: of a controller, by its name in the secrets store.
    Raises GroundupError where the controller has another machine, or does not say which and that is not accepted.
    """
    host, known = plan.hosts.get(about.name), identities(home, plan)
    bmc = (host.bmc if host else None) or _of_node(node)
    one = _known(ironic, node, host, known.get(about.name))
    secret = ""
    with suppress(GroundupError, KeyError):  # it is silent
        secret = password(str(bmc["credentials"]))
    own = asked(ironic, bmc, secret, serial=one.serial) if secret else Controller()
    words = {name: (who.serial, *who.macs) for name, who in known.items()}
    card = not_its_own(plan, host, own, words) if host else None
    has = own.has(one)
    said = f"{bmc.get('address')} reports {str(own) or 'nothing'}"
    is_one = f"{about.name} has serial {one.serial or 'unknown'}, ports {few(sorted(one.macs), most=3) or 'unknown'}"
    if card or has is False:
        raise GroundupError(
            card.what
            if card
            else f"the management controller {bmc.get('address')} of {about.name} has another machine",
            where=f"{said}; {is_one}",
            why="another machine would be switched off, and its disks erased; nothing was changed",
            remedy=card.remedy
            if card
            else f"see both; correct bmc.address, serial or MAC addresses of {about.name} in "
            f"the site file; one that is gone: erase_force: [disks, dead]",
        )
    person = own.has_some(one) and one.approved == about.name  # who saw that firmware tells two numbers
    if has is None and not person and not about.accepted:
        raise GroundupError(
            f"the management controller of {about.name} does not say that it is its own",
            where=f"{said}; {is_one}",
            why="another machine may be switched off, and its disks erased; nothing was changed",
            remedy=f"see that it answers with a serial number or MAC addresses, and correct {about.name} in the site "
            f"file; if it is the right one: {about.accepting(SILENT)}",
        )
    return driver_info(bmc, secret, system=own.system)


def _of_node(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the controller that Ironic has for a machine that left the site file."""
    told = node.get("driver_info") or {}
    return {
        "address": str(told.get("redfish_address") or "").rpartition("//")[2],
        "user": str(told.get("redfish_username") or ""),
        "system": told.get("redfish_system_id"),
        "credentials": _CREDENTIALS,
    }


def _known(ironic: Ironic, node: Mapping[str, Any], host: HostPlan | None, who: MachineIdentity | None) -> Sighting:
    """Return the machine as its last inventory, its discovery and the site file have it."""
    one = Sighting(node=str(node["uuid"]), serial="", bmc="", boots="", nics=(), disks=(), cores=0, memory_mib=0)
    with suppress(ValueError):
        one = read(node, ironic.inventory(str(node["uuid"])) or {})
    written = {port.mac for port in host.interfaces if port.mac} if host else set[str]()
    macs = {*one.macs, *(who.macs if who else ()), *written}
    serials = (one.serial, who.serial if who else "", (host.serial if host else "") or "")
    nics = tuple(Nic(name="", mac=mac, carrier=False, gbps=None) for mac in sorted(macs))
    return replace(one, serial=next((word for word in serials if not is_filler(word)), ""), nics=nics)
