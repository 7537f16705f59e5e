"""Bring one machine from power-off to installed: steps of its way, until it has called home."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ..errors import GroundupError
from .api import BusyError, Ironic
from .batch import left_behind
from .journal import Journal
from .quirks import boot_of, changes_for, pause_before
from .way import ATTEMPTS, RETRIES, Card, Step, Verb, attempts, last_heard, next_attempt, next_step, ramdisk_silent

# Seconds that a ramdisk is waited for which was heard once: it calls every 90 to 180 s (0.3 to 0.6 of Ironic's
# ramdisk_heartbeat_timeout), and an inspecting one is gone on with by its last call alone, which grows old then.
SILENT = 330.0
LOST = 180.0  # the same for its first call: that follows its question for a token at once
MISSED = 180.0  # more, where Ironic was away meanwhile: the next call after one that nobody heard
LEAVES = Card(
    what="it is being retired",
    why="its disks may be half erased",
    remedy="end that first: ansible-playbook groundup.cloud.erase, or groundup.cloud.reprovision, with its name",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a machine is to be."""

    name: str
    node: dict[str, Any]  # of Ironic, with the controller's password
    mac: str
    image: dict[str, str]  # url, sha256
    root_device: dict[str, Any] = field(default_factory=dict)  # Ironic's hints; none: the smallest that is large enough
    configdrive: Callable[[str], dict[str, Any]]  # from the token of its call
    layers: tuple[str, ...] = ()  # that the seed runs on it after its call
    again: bool = False  # somebody has looked at its failure: its attempts are counted anew
    judge: Callable[[dict[str, Any] | None], Card | None] = lambda _told: None  # from what its ramdisk told


def provision(
    ironic: Ironic, wanted: Wanted, journal: Journal, say: Callable[[str], None], *, timeout: float, pause: float = 5.0,
    left: threading.Event | None = None,
) -> tuple[dict[str, Any], bool]:  # fmt: skip
    """Return the machine's call, with its host keys, once it is installed and has called; and whether that is new.

    ``timeout`` is in seconds without any step of its way: a machine that is slow goes on, one that hangs does not.
    Once ``left`` is set it is left where Ironic works on it. Raises GroundupError, LeftError.
    """
    if journal.leaving:
        raise as_error(wanted.name, LEAVES)
    deadline, silent = time.monotonic() + timeout, time.monotonic() + SILENT
    asked, again, left, ramdisk = False, wanted.again, left or threading.Event(), _Ramdisk()
    while True:
        try:
            node = ironic.node(wanted.name)
            call = ironic.call_of(wanted.name) or {} if node else {}
            if again and node:
                again = _again(ironic, wanted, journal, node)
                time.sleep(pause)
                continue
            step = next_step(node, asked=asked, installed=journal.installed)
            step = _judged(ironic, wanted, node or {}, step, silent=time.monotonic() < silent)
            step = ramdisk.judged(node or {}, step)
        except BusyError:
            if left.is_set() or time.monotonic() > deadline:
                raise
            ramdisk.unheard()
            left.wait(pause)
            continue
        if step.verb == "done":
            if call.get("called"):
                is_new = not journal.installed
                if is_new:
                    journal.note(Step(state="installed", verb="done", doing="it called home"))
                return call, is_new
            step = Step(state="provisioning", verb="wait", doing="its system boots for the first time")
        if journal.note(step):
            say(f"{wanted.name}: {step.state}, {step.doing or (step.card.what if step.card else '')}")
            deadline = time.monotonic() + timeout
        if step.card:
            raise as_error(wanted.name, step.card)
        if left.is_set():  # nothing is begun: without a pause the same node would be seen, and deployed twice
            raise left_behind(wanted.name, f"{step.state}, {step.doing}")
        asked |= _asked(ironic, wanted, journal, step.verb, node or {})
        if time.monotonic() > deadline:
            raise given_up(wanted.name, _hangs(step, timeout), journal)
        left.wait(pause)


class _Ramdisk:
    """The last sign of a ramdisk that writes the system, and for how long Ironic answered without another one."""

    heard = ""
    silent = 0.0  # seconds, by this machine's clock
    looked: float | None = None  # when Ironic answered; None: it did not the last time
    missed = False  # a call may have been, since the last sign

    def unheard(self) -> None:
        """Note that Ironic does not answer, and hears no ramdisk: that is no silence of the machine."""
        self.looked, self.missed = None, True

    def judged(self, node: dict[str, Any], step: Step) -> Step:
        """Return ``step``, or that the installation begins anew: the ramdisk fell silent, and will not go on."""
        heard, called = last_heard(node)
        now = time.monotonic()
        if heard != self.heard:
            self.heard, self.silent, self.missed = heard, 0.0, False
        elif self.looked is not None:
            self.silent += now - self.looked
        self.looked = now
        allowed = (SILENT if called else LOST) + MISSED * self.missed
        if not heard or self.silent < allowed or attempts(node) >= ATTEMPTS:
            return step
        self.heard = ""
        doing = f"attempt {attempts(node) + 1} of {ATTEMPTS}: its ramdisk fell silent"
        return Step(state="provisioning", verb="undeploy", doing=doing)


@contextmanager
def _journaled(journal: Journal) -> Iterator[None]:
    """Write what Ironic refuses into the machine's journal, as a card; that it is busy is no fault."""
    try:
        yield
    except BusyError:
        raise
    except GroundupError as error:
        card = Card(what=error.what, why=error.why, remedy=error.remedy)
        journal.note(Step(state="failed", verb="fail", card=card))
        raise


def _judged(ironic: Ironic, wanted: Wanted, node: dict[str, Any], step: Step, *, silent: bool) -> Step:
    """Return ``step``, a failure when the machine is not what the plan says, or that its ramdisk is waited for."""
    if step.verb == "deploy" and ramdisk_silent(node) and silent:
        return Step(state="inspected", verb="wait", doing="its ramdisk says where it is reached")
    if step.verb != "provide" or attempts(node):
        return step
    card = wanted.judge(ironic.inventory(wanted.name))
    return Step(state="failed", verb="fail", card=card) if card else step


def _again(ironic: Ironic, wanted: Wanted, journal: Journal, node: dict[str, Any]) -> bool:
    """Have a machine that failed begin anew; return whether there is more to do.

    One that was installed since Ironic had it as failed (a restored seed) is left to `next_step`, which refuses it.
    """
    if node.get("maintenance"):
        ironic.hold(wanted.name, on=False)
        return True
    if node["provision_state"] == "deploy failed" and not journal.installed:
        journal.note(Step(state="provisioning", verb="deploy", doing="begun again: somebody looked at it"))
        with _journaled(journal):
            _carry_out(ironic, wanted, "deploy", {"provision_state": "available"})
    return False


def _asked(ironic: Ironic, wanted: Wanted, journal: Journal, verb: Verb, node: dict[str, Any]) -> bool:
    """Have Ironic begin ``verb``; return whether a management controller is asked. One that is busy begins nothing."""
    with suppress(BusyError), _journaled(journal):
        _carry_out(ironic, wanted, verb, node)
        return verb in ("manage", "inspect")
    return False


def _carry_out(ironic: Ironic, wanted: Wanted, verb: Verb, node: dict[str, Any]) -> None:
    identity = wanted.name
    match verb:
        case "create":
            ironic.create(wanted.node, mac=wanted.mac)
        case "manage" if node["provision_state"] == "clean failed":
            ironic.provision(identity, "manage")
        case "manage":
            ironic.create(wanted.node, mac=wanted.mac)  # a killed run may have left it without its port
            now = {f"/{field}": wanted.node[field] for field in ("driver_info", "network_data")}
            now |= {f"/properties/{name}": value for name, value in wanted.node["properties"].items()}
            ironic.change(identity, now | {"/boot_interface": boot_of(node, wanted.node["boot_interface"])})
            ironic.provision(identity, "manage")
        case "undeploy":
            ironic.provision(identity, "deleted")
        case "inspect" | "provide":
            if own := changes_for(node, boot=wanted.node["boot_interface"]):
                ironic.change(identity, own)
            ironic.provision(identity, verb)
        case "deploy":
            time.sleep(pause_before(node))
            token = secrets.token_urlsafe(32)
            ironic.expect(wanted.name, sha256=hashlib.sha256(token.encode()).hexdigest(), layers=wanted.layers)
            image: dict[str, Any] = {
                "image_source": wanted.image["url"], "image_os_hash_algo": "sha256",
                "image_os_hash_value": wanted.image["sha256"], "image_disk_format": "qcow2",
            }  # fmt: skip
            if wanted.root_device:
                image["root_device"] = wanted.root_device
            now = {f"/{field}": wanted.node[field] for field in ("network_data", "driver_info")}
            ironic.change(identity, {"/instance_info": image, f"/extra/{RETRIES}": next_attempt(node), **now})
            ironic.provision(identity, "active", configdrive=wanted.configdrive(token))


def _hangs(step: Step, timeout: float) -> Card:
    if "first time" in step.doing:
        what, remedy = "it did not call home after its installation", "see its console: does it boot from its disk?"
    else:
        what, remedy = f"nothing has changed: {step.doing}", "see its console, and journalctl -u ironic on the seed"
    return Card(what=what, why=f"{timeout:g} s without a step of its way", remedy=remedy)


def given_up(name: str, card: Card, journal: Journal) -> GroundupError:
    """Journal that a machine has failed, at what it was doing; return its card as an error."""
    journal.note(Step(state="failed", verb="fail", doing=journal.doing, card=card))
    return as_error(name, card)


def as_error(name: str, card: Card) -> GroundupError:
    """Return the card of a machine as an error."""
    return GroundupError(card.what, where=name, why=card.why, remedy=card.remedy)
