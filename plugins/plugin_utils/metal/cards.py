"""Cards of machines that wait for somebody, or that are not who they say. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...module_utils._base.identifiers import serial_key
from ...module_utils._base.text import few
from ..plan.platform.metal import from_network
from ..plan.types import HostPlan, Plan
from .controller import Controller
from .sighting import Sighting
from .way import Card

# Roles whose machines hold the site's keys. With `approve: ask` somebody is asked about each, however it was matched.
_TRUSTED = {"control", "seed"}


def denied(host: HostPlan, one: Sighting, own: Controller) -> Card | None:
    """Return the card of a machine whose controller does not agree, None when it does or says nothing.

    Where a MAC address agrees and the serial number alone does not, firmware may tell two numbers: somebody may approve
    the machine.
    """
    if own.several:
        return denied_systems(host, own)
    if own.has(one) is not False:
        return None
    alike = own.has_mac(one) and not own.shared
    if alike and one.approved == host.name:
        return None
    seen = f"serial {one.serial or 'unknown'}, {few(sorted(one.macs), most=3)}"
    way = f"if it is the right one, {_approve(host.name)}; else " if alike else ""
    said = "says what another one says" if own.shared else f"says otherwise ({own})"
    return Card(
        what=f"it would be {host.name} (it has {seen}), but the management controller of {host.name} {said}",
        why="a machine can claim any identity, and another one would be switched off and on in its place",
        remedy=f"{way}correct bmc.address, serial or MAC addresses of {host.name}; or take the machine off the network",
        asks=one.shown if alike else "",
    )


def asks(host: HostPlan, one: Sighting, own: Controller) -> bool:
    """Return whether somebody is asked about a machine that is known by what it says of itself."""
    claimed = from_network(host) and host.approve == "ask" and one.approved != host.name
    return claimed and (not own.has(one) or bool(_TRUSTED & set(host.roles)))


def question(host: HostPlan, one: Sighting, how: str) -> Card:
    return Card(
        what=f"{how} {host.name} and waits for approval: {one}",
        why="approve: ask; nothing is written to it until somebody says so",
        remedy=_approve(host.name),
        asks=one.shown,
    )


def unasked(name: str, one: Sighting) -> Card | None:
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
    return Card(what=what, why="they would be written over", remedy=_approve(name), asks=one.shown)


def _approve(name: str) -> str:
    return f"approve it on the seed's page or by groundup.cloud.approve -e approve_machine={name}, then run this again"


def not_its_own(plan: Plan, host: HostPlan, own: Controller, known: Mapping[str, Iterable[str]]) -> Card | None:
    """Return why nothing must be asked of the controller of ``host``: it is another machine's. None when it may.

    ``known``: serial numbers and MAC addresses of discovered machines, by name; those of the site file count, too.
    """
    if own.several:
        return denied_systems(host, own)
    of: dict[str, set[str]] = {}  # identifier -> machines that have it
    for name, other in plan.hosts.items():
        for word in (other.serial, *(port.mac for port in other.interfaces), *known.get(name, ())):
            of.setdefault((word or "") if ":" in (word or "") else serial_key(word or ""), set()).add(name)
    said = [of[word] for word in (*own.serials, *sorted(own.macs)) if len(of.get(word, ())) == 1]
    others = sorted(name for names in said for name in names if name != host.name)
    wrong = host.serial and own.serials and serial_key(host.serial) not in own.serials and {host.name} not in said
    if not others and not wrong:
        return None
    whose = f"is that of {others[0]}" if others else f"is that of another machine, not of serial {host.serial}"
    both = " and ".join([host.name, *others[:1]])
    return Card(
        what=f"the management controller of {host.name} {whose} ({own})",
        why="another machine would be switched off and on in its place",
        remedy=f"correct bmc.address, serial or MAC addresses of {both} in the site file",
    )


def denied_systems(host: HostPlan, own: Controller) -> Card:
    """Return the card of a machine whose controller has several systems."""
    return Card(
        what=f"the management controller of {host.name} has several systems: {few(own.several)}",
        why="nobody knows which of them is the machine",
        remedy=f"write machines.{host.group}.machines.{host.name}.bmc.system: the path of the right one",
    )
