"""Install one machine from power-off, step by step, until it calls home."""

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
from .way import (
    ATTEMPTS,
    RETRIES,
    MachineCard,
    Verb,
    WayStep,
    attempts,
    last_heard,
    next_attempt,
    next_step,
    ramdisk_silent,
)

# Seconds to wait for the next heartbeat of a ramdisk. It sends one every 90 to 180 s (0.3 to 0.6 of Ironic's
# ramdisk_heartbeat_timeout). An inspected machine is deployed only while its last heartbeat is recent.
SILENT = 330.0
LOST = 180.0  # the same for the first heartbeat, which directly follows the request for a token
MISSED = 180.0  # in addition, when Ironic was away meanwhile and may have missed a heartbeat
LEAVES = MachineCard(
    what="it is being retired",
    why="its disks may be half erased",
    remedy="end that first: ansible-playbook groundup.cloud.erase, or groundup.cloud.reprovision, with its name",
)


_POWER: tuple[Verb, ...] = ("create", "manage", "inspect", "provide", "deploy", "undeploy")  # ends in power commands


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """The desired state of a machine."""

    name: str
    node: dict[str, Any]  # Ironic's fields, with the controller's password
    mac: str
    image: dict[str, str]  # url, sha256
    root_device: dict[str, Any] = field(default_factory=dict)  # Ironic's hints; empty: the smallest disk that fits
    configdrive: Callable[[str], dict[str, Any]]  # from the token of its call
    layers: tuple[str, ...] = ()  # to be run by the seed after the call
    again: bool = False  # retry by an operator: attempts are counted from zero
    judge: Callable[[dict[str, Any] | None], MachineCard | None] = lambda _told: None  # by its inventory
    guard: Callable[[], MachineCard | None] = lambda: (
        None
    )  # why its management controller must not be asked for anything


def provision(
    ironic: Ironic, wanted: Deployment, journal: Journal, say: Callable[[str], None], *, timeout: float,
    pause: float = 5.0, left: threading.Event | None = None,
) -> tuple[dict[str, Any], bool]:  # fmt: skip
    """Install a machine; return its call home, with its host keys, and whether the call is new.

    ``timeout``: seconds without progress, so that a slow machine goes on and a hanging one fails. Once ``left`` is set,
    request nothing more of Ironic and stop. Raises GroundupError, LeftError.
    """
    if journal.leaving:
        raise LEAVES.at(wanted.name)
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
            step = _guarded(wanted, ramdisk.judged(node or {}, step))
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
                    journal.note(WayStep(state="installed", verb="done", doing="it called home"))
                return call, is_new
            step = WayStep(state="provisioning", verb="wait", doing="its system boots for the first time")
        if journal.note(step):
            say(f"{wanted.name}: {step.state}, {step.doing or (step.card.what if step.card else '')}")
            deadline = time.monotonic() + timeout
        if step.card:
            raise step.card.at(wanted.name)
        if left.is_set():  # request nothing: without a pause, the listing is unchanged and the node is deployed twice
            raise left_behind(wanted.name, f"{step.state}, {step.doing}")
        asked |= _asked(ironic, wanted, journal, step.verb, node or {})
        if time.monotonic() > deadline:
            raise given_up(wanted.name, _hangs(step, timeout), journal)
        left.wait(pause)


class _Ramdisk:
    """Detects that a ramdisk fell silent during deployment. Only time in which Ironic answers counts."""

    heard = ""  # its last sign of life
    silent = 0.0  # seconds since then, by this machine's clock
    looked: float | None = None  # when Ironic answered; None: it did not the last time
    missed = False  # Ironic was away since the last sign, and may have missed a heartbeat

    def unheard(self) -> None:
        """Note that Ironic does not answer: this is no silence of the ramdisk."""
        self.looked, self.missed = None, True

    def judged(self, node: dict[str, Any], step: WayStep) -> WayStep:
        """Return ``step``, or "undeploy" when the ramdisk fell silent and attempts are left."""
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
        return WayStep(state="provisioning", verb="undeploy", doing=doing)


@contextmanager
def _journaled(journal: Journal) -> Iterator[None]:
    """Journal an error of the block as a card and raise it; a BusyError is no fault."""
    try:
        yield
    except BusyError:
        raise
    except GroundupError as error:
        card = MachineCard(what=error.what, why=error.why, remedy=error.remedy)
        journal.note(WayStep(state="failed", verb="fail", card=card))
        raise


def _judged(ironic: Ironic, wanted: Deployment, node: dict[str, Any], step: WayStep, *, silent: bool) -> WayStep:
    """Return ``step``; instead a failure when the hardware contradicts the plan, or a wait for the ramdisk."""
    if step.verb == "deploy" and ramdisk_silent(node) and silent:
        return WayStep(state="inspected", verb="wait", doing="its ramdisk says where it is reached")
    if step.verb != "provide" or attempts(node):
        return step
    card = wanted.judge(ironic.inventory(wanted.name))
    return WayStep(state="failed", verb="fail", card=card) if card else step


def _guarded(wanted: Deployment, step: WayStep) -> WayStep:
    """Return ``step``, or a failure when it would ask another machine's controller for power."""
    card = wanted.guard() if step.verb in _POWER else None
    return WayStep(state="failed", verb="fail", card=card) if card else step


def _again(ironic: Ironic, wanted: Deployment, journal: Journal, node: dict[str, Any]) -> bool:
    """Start a failed machine again; return whether to call this again.

    After a restore of the seed Ironic may show an installed machine as failed. `next_step` refuses that one.
    """
    if node.get("maintenance"):
        ironic.hold(wanted.name, on=False)
        return True
    if node["provision_state"] == "deploy failed" and not journal.installed:
        step = _guarded(
            wanted, WayStep(state="provisioning", verb="deploy", doing="begun again: somebody looked at it")
        )
        journal.note(step)
        if step.card:
            raise step.card.at(wanted.name)
        with _journaled(journal):
            _carry_out(ironic, wanted, "deploy", {"provision_state": "available"})
    return False


def _asked(ironic: Ironic, wanted: Deployment, journal: Journal, verb: Verb, node: dict[str, Any]) -> bool:
    """Request ``verb`` of Ironic unless it is busy; return whether it then contacts the management controller."""
    with suppress(BusyError), _journaled(journal):
        _carry_out(ironic, wanted, verb, node)
        return verb in ("manage", "inspect")
    return False


def _carry_out(ironic: Ironic, wanted: Deployment, verb: Verb, node: dict[str, Any]) -> None:
    identity = wanted.name
    match verb:
        case "create":
            ironic.create(wanted.node, mac=wanted.mac)
        case "manage" if node["provision_state"] == "clean failed":
            ironic.provision(identity, "manage")
        case "manage":
            ironic.create(wanted.node, mac=wanted.mac)  # after a killed run the port may be missing
            now = {f"/{field}": wanted.node[field] for field in ("driver_info", "network_data")}
            now |= {f"/properties/{name}": value for name, value in wanted.node["properties"].items()}
            ironic.change(identity, now | {"/boot_interface": boot_of(node, wanted.node["boot_interface"])})
            ironic.provision(identity, "manage")
        case "undeploy":
            ironic.provision(identity, "deleted")
        case "inspect" | "provide":
            # Its controller's address may be another since it was managed: the guard asked the present one.
            now = {"/driver_info": wanted.node["driver_info"]}
            ironic.change(identity, now | changes_for(node, boot=wanted.node["boot_interface"]))
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


def _hangs(step: WayStep, timeout: float) -> MachineCard:
    if "first time" in step.doing:
        what, remedy = "it did not call home after its installation", "see its console: does it boot from its disk?"
    else:
        what, remedy = f"nothing has changed: {step.doing}", "see its console, and journalctl -u ironic on the seed"
    return MachineCard(what=what, why=f"{timeout:g} s without a step of its way", remedy=remedy)


def given_up(name: str, card: MachineCard, journal: Journal) -> GroundupError:
    """Journal a machine's failure in its present activity; return its card as an error."""
    journal.note(WayStep(state="failed", verb="fail", doing=journal.doing, card=card))
    return card.at(name)
