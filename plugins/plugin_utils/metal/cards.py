"""Cards of machines that wait for somebody, or that are not who they say. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...module_utils._base.identifiers import is_filler, serial_key
from ...module_utils._base.text import few
from ..plan.platform.metal import from_network
from ..plan.types import HostPlan, Plan
from .controller import Controller
from .sighting import Sighting
from .way import MachineCard

_TRUSTED = ("control", "seed")  # roles whose machines hold the keys of the site


def denied(host: HostPlan, one: Sighting, own: Controller) -> MachineCard | None:
    """Return the card of a machine whose controller has another one, or cannot tell which; None when it may be it."""
    if own.several:
        return _several(host, own)
    if own.has(one) is not False:
        return None
    said = "says what another one says" if own.shared else f"has another machine: {own}"
    return MachineCard(
        what=f"it would be {host.name}, but {_controller(host)} {said}; "
        f"this one has serial {one.serial or 'unknown'}, ports {few(sorted(one.macs), most=3) or 'unknown'}",
        why="a machine can claim any serial number and MAC address; another would be switched off and on in its place",
        remedy=f"see both machines; correct machines.{host.group}.machines.{host.name}.bmc.address, serial or MAC "
        "addresses, or take this one off the network",
    )


def doubt(host: HostPlan, one: Sighting, own: Controller) -> str:
    """Return why a person must approve ``one`` as ``host``, "" when nobody must.

    Whoever is on the network it boots from can claim a serial number or a MAC address: no claim is an approval.
    """
    if host.approve == "ask":
        return "approve: ask"
    if own.has(one):
        return ""
    if not own.silent:
        return f"its management controller reports {own}"
    if one.bmc:
        return "its management controller does not answer, and only the machine says that it is its own"
    return f"its management controller does not answer, and its role is {role}" if (role := _role(host)) else ""


def unconfirmed(host: HostPlan, one: Sighting, own: Controller) -> str:
    """Return why a person must approve ``one``, whose boot port the site file has; "" when nobody must."""
    asks = from_network(host) and (not own.has(one) or (host.approve == "ask" and _role(host)))
    return doubt(host, one, own) if asks else ""


def _controller(host: HostPlan) -> str:
    return f"the management controller {(host.bmc or {}).get('address')} of {host.name}"


def _role(host: HostPlan) -> str:
    return next((role for role in _TRUSTED if role in host.roles), "")


def question(host: HostPlan, one: Sighting, how: str, reason: str) -> MachineCard | None:
    """Return the card that asks about ``one`` as ``host``; None without a reason, or when it was approved."""
    if not reason or one.approved == host.name:
        return None
    return MachineCard(
        what=f"it is {host.name} ({how}) and waits for approval: {one}",
        why=f"{reason}; nothing is written to it until somebody says so",
        remedy=_approve(host.name),
        asks=one.shown,
    )


def unasked(name: str, one: Sighting) -> MachineCard | None:
    """Return the card of a machine with used disks, None when all their contents were approved."""
    approved = one.approved_disks if one.approved == name else ()
    new = [line for line in one.contents if line not in approved]
    if not new:
        return None
    what = f"its disks are in use and it waits for approval: {one.used}"
    if approved:
        gone = [line for line in approved if line not in one.contents]
        what = f"its disks are not as they were approved, and it waits for approval again: {'; '.join(new)}"
        what += f"; approved was: {'; '.join(gone)}" if gone else ""
    return MachineCard(what=what, why="they would be written over", remedy=_approve(name), asks=one.shown)


def _approve(name: str) -> str:
    return f"approve it on the seed's page or by groundup.cloud.approve -e approve_machine={name}, then run this again"


def not_its_own(plan: Plan, host: HostPlan, own: Controller, known: Mapping[str, Iterable[str]]) -> MachineCard | None:
    """Return why nothing must be asked of the controller of ``host``: it is another machine's. None when it may.

    ``known``: serial numbers and MAC addresses of discovered machines, by name; those of the site file count, too.
    """
    if own.several:
        return _several(host, own)
    of: dict[str, set[str]] = {}  # identifier -> machines that have it
    for name, other in plan.hosts.items():
        for word in (other.serial, *(port.mac for port in other.interfaces), *known.get(name, ())):
            of.setdefault((word or "") if ":" in (word or "") else serial_key(word or ""), set()).add(name)
    said = [of[word] for word in (*own.serials, *sorted(own.macs)) if len(of.get(word, ())) == 1]
    others = sorted(name for names in said for name in names if name != host.name)
    wrong = (
        host.serial
        and not is_filler(own.serial)
        and serial_key(host.serial) not in own.serials
        and {host.name} not in said
    )
    if not others and not wrong:
        return None
    whose = f"is that of {others[0]}" if others else f"is that of another machine, not of serial {host.serial}"
    both = " and ".join([host.name, *others[:1]])
    return MachineCard(
        what=f"{_controller(host)} {whose} ({own})",
        why="another machine would be switched off and on in its place",
        remedy=f"correct bmc.address, serial or MAC addresses of {both} in the site file",
    )


def _several(host: HostPlan, own: Controller) -> MachineCard:
    """Return the card of a machine whose controller has several systems."""
    return MachineCard(
        what=f"{_controller(host)} has several systems: {few(own.several)}",
        why="nobody knows which of them is the machine",
        remedy=f"write machines.{host.group}.machines.{host.name}.bmc.system: the path of the right one",
    )
