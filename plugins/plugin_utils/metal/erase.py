"""The verb `erase`, and the first half of `reprovision`: prediction, consent, erasure and its verification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.locks import locked
from ..errors import GroundupError
from ..paths import state_dir
from ..plan.types import Plan
from ..vault import open_store
from ..vault.names import IRONIC
from .api import Ironic
from .confirm import SILENT, Question, confirm
from .identity import identity_file
from .install import metal_of, remember
from .journal import Journal, alone, file_of, home_of
from .leave import STEPS, LeavingMachine, Method, detach, leave, unfinished
from .sighting import read

LOST, OSDS, DEAD = "disks", "osds", "dead"
CLUSTER_SILENT, CLOUD_SILENT, OVN_SILENT = "cluster-silent", "cloud-silent", "ovn-silent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The operator's options."""

    name: str
    method: Method
    stays: bool
    force: frozenset[str]
    timeout: float

    def accepting(self, reason: str) -> str:
        """Return the command-line option that accepts ``reason``, the loss of the disks, and all in `force`."""
        codes = ", ".join(sorted({LOST, reason, *self.force}))
        return f"-e '{{\"{'reprovision' if self.stays else 'erase'}_force\": [{codes}]}}'"


def has_had(plan: Plan, secret: str) -> bool:
    """Return whether the site has ever had the service that uses ``secret``: names never leave the store."""
    return secret in open_store(plan.site, write=False).names()


def refuse_unsuitable(plan: Plan, wanted: Erasure) -> Journal:
    """Return the journal of the named machine. Raises GroundupError for one that this verb does not erase."""
    name = wanted.name
    journal = Journal(file_of(home_of(plan.site), name))  # refuses an invalid name
    host = plan.hosts.get(name)
    if host and host.provisioner != "ironic":
        raise GroundupError(
            f"{name} is of provisioner {host.provisioner}",
            where=f"machines.{host.group}.provisioner",
            why="only a machine that the seed can switch on is erased by it",
            remedy="erase it by hand",
        )
    if wanted.stays and host is None:
        raise GroundupError(
            f"{name} is no machine of the site file",
            where="machines",
            why="the plan says what it is installed with",
            remedy="write it there, or erase it by groundup.cloud.erase",
        )
    return journal


def foreseen(plan: Plan, wanted: Erasure) -> dict[str, Any]:
    """Return the actions, one line each. Raises GroundupError without consent, or for an unsuitable machine."""
    ironic, node, found = _foreseen(plan, wanted)
    if node:
        _confirmed(plan, ironic, node, wanted)
    return found


def _foreseen(plan: Plan, wanted: Erasure) -> tuple[Ironic, dict[str, Any] | None, dict[str, Any]]:
    """Return Ironic, its node, and the actions; the machine's controller was not asked yet."""
    name, journal = wanted.name, refuse_unsuitable(plan, wanted)
    ironic = _ironic(plan, name)
    node = ironic.node(name)
    if node is None and not unfinished(journal):
        return ironic, None, {"changed": False, "changes": []}
    known = _disks(ironic, node) if node else ""
    if LOST not in wanted.force:
        raise GroundupError(
            f"everything on the disks of {name} would be lost" + (f", {known}" if known else ""),
            where=f"machine {name}, {node['provision_state'] if node else 'unknown'} by Ironic",
            why="nothing brings it back; nothing was changed",
            remedy=f"accept it with {wanted.accepting(LOST)}",
        )
    return ironic, node, {"changed": True, "changes": _lines(wanted, known=node is not None, disks=known)}


def _disks(ironic: Ironic, node: dict[str, Any]) -> str:
    """Return the disks that the ramdisk would erase: all that the machine sees, volumes of a shared storage, too."""
    try:
        found = read(node, ironic.inventory(str(node["uuid"])) or {}).disks
    except ValueError:
        return ""
    said = "; ".join(f"{disk}{f', {disk.used}' if disk.used else ''}" for disk in found)
    return f"by its last inventory: {said or 'none'}"


def _confirmed(plan: Plan, ironic: Ironic, node: dict[str, Any], wanted: Erasure) -> dict[str, Any]:
    """Return how Ironic is to reach its controller; empty where it asks that for nothing. Raises GroundupError."""
    if DEAD in wanted.force or node["provision_state"] == "enroll":
        return {}
    about = Question(name=wanted.name, accepted=SILENT in wanted.force, accepting=wanted.accepting)
    password = open_store(plan.site, write=False).get
    return confirm(plan, ironic, node, about, home=home_of(plan.site), password=password)


def carry_out(plan: Plan, wanted: Erasure, say: Callable[[str], None]) -> dict[str, Any]:
    """Erase the machine; return the actions and the erasure's record. Raises GroundupError."""
    ironic, _, found = _foreseen(plan, wanted)
    home, name = home_of(plan.site), wanted.name
    journal = Journal(file_of(home, name))
    leaving = LeavingMachine(
        name=name,
        method=wanted.method,
        stays=wanted.stays,
        timeout=wanted.timeout,
    )
    with alone(home, name), locked(home / f".{name}.lock"):  # keeps runs of layers away
        dead = DEAD in wanted.force
        if (node := ironic.node(name)) and (reached := _confirmed(plan, ironic, node, wanted)):
            _point(ironic, node, reached)
        record = (
            detach(ironic, leaving, journal, home / "erasures")
            if dead
            else leave(ironic, leaving, journal, home / "erasures", say)
        )
        if not wanted.stays:
            identity_file(home, name).unlink(missing_ok=True)  # another machine may be matched to the name
    if host := plan.hosts.get(name):
        remember(Changes(check=False), state_dir(plan.site) / "ssh/known_hosts", plan, host, ())
    return found | {"record": str(record or "")}


def _point(ironic: Ironic, node: dict[str, Any], reached: dict[str, Any]) -> None:
    """Have Ironic use the controller that was asked: the site file may have another one since the installation."""
    told = node.get("driver_info") or {}
    fields = ("redfish_address", "redfish_system_id")
    if any(name in reached and told.get(name) != reached[name] for name in fields):
        ironic.change(str(node["uuid"]), {"/driver_info": reached})


def remains(plan: Plan, wanted: Erasure) -> list[str]:
    """Return what is left of a machine that was to leave."""
    left = not wanted.stays and _ironic(plan, wanted.name).node(wanted.name)
    return ["Ironic still knows it; baremetal node show on the seed says where it is"] if left else []


def _lines(wanted: Erasure, *, known: bool, disks: str) -> list[str]:
    name = wanted.name
    if not known:
        return [f"forget {name}, which Ironic does not know; its disks are NOT erased"]
    if DEAD in wanted.force:
        return [f"forget {name}; its disks are NOT erased"]
    lines = [
        f"end the installation of {name}, and switch it off",
        f"erase its disks ({STEPS[wanted.method]})" + (f", {disks}" if disks else ""),
    ]
    return [*lines, f"install {name}" if wanted.stays else f"forget {name}"]


def _ironic(plan: Plan, name: str) -> Ironic:
    metal, store = metal_of(plan, [name]), open_store(plan.site, write=False)
    ca = state_dir(plan.site) / "ca.crt"
    return Ironic(api=metal.api_url, media=metal.media_url, password=store.get(IRONIC), ca=ca)
