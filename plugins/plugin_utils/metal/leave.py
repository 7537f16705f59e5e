"""Deprovision a machine: end its installation, erase its disks, delete its node.

Ironic keeps the state, so a killed run continues. Disks count as erased only when the journal shows that the erasure
was requested by the same method, and Ironic ended it without an error. In doubt they are erased again.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from ...module_utils._base.files import write_file
from ..errors import GroundupError
from .api import BusyError, Ironic
from .journal import Journal
from .provision import given_up
from .sighting import read
from .way import RETRIES, MachineCard, WayStep

Method = Literal["metadata", "full"]
STEPS: dict[str, str] = {"metadata": "erase_devices_metadata", "full": "erase_devices"}  # Ironic's clean steps
_CLEANED, ERASED = "its disks are cleaned, not by this erasure", "its disks are erased"
# Ironic's provision state -> action, and description. Any other state fails with a card.
_WAY: dict[str, tuple[str, str]] = {
    "enroll": ("end", "nothing was installed on it"),
    "verifying": ("wait", "its management controller is asked"),
    "inspecting": ("wait", "it is inspected"),
    "inspect wait": ("wait", "it is inspected"),
    "inspect failed": ("manage", "taken out of what may be installed"),
    "manageable": ("erase", "the erasure of its disks begins"),
    "available": ("manage", "taken out of what may be installed"),
    "active": ("deleted", "its installation ends"),
    "deploy failed": ("deleted", "its installation ends"),
    "wait call-back": ("deleted", "its installation ends"),
    "error": ("deleted", "its installation ends"),
    "deploying": ("wait", "its deployment is not to be interrupted here"),
    "deleting": ("wait", "its installation ends"),
    "cleaning": ("wait", _CLEANED),
    "clean wait": ("wait", _CLEANED),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMachine:
    """The machine to deprovision, and options."""

    name: str
    method: Method = "metadata"
    stays: bool = False  # keep its node: it is installed again
    timeout: float = 3600.0
    pause: float = 5.0

    @property
    def erasing(self) -> str:
        """The journal's text while the erasure runs."""
        return f"its disks are being erased ({self.method})"


def next_step(node: Mapping[str, Any] | None, *, erasing: str = "", tried: frozenset[str] = frozenset()) -> WayStep:
    """Return the next step for ``node``.

    ``erasing``: the text of the erasure, once it was requested. ``tried``: actions that this run requested already;
    none is requested twice.
    """
    if node is None:
        return WayStep(state="retired", verb="done", doing="Ironic does not know it")
    provision, error = str(node["provision_state"]), str(node.get("last_error") or "")
    verb, doing = _WAY.get(provision, ("fail", ""))
    held = node.get("maintenance") and verb not in ("wait", "end")
    if provision == "manageable" and erasing and not held:
        return WayStep(state="retiring", verb="done", doing=ERASED)
    if verb == "fail" or verb in tried or held:
        return WayStep(state="failed", verb="fail", card=_card(node, error or f"it is {provision}"))
    if doing == _CLEANED and erasing:
        doing = erasing
    return WayStep(state="retiring", verb="done" if verb == "end" else "wait", doing=doing)


def verb_of(node: Mapping[str, Any]) -> str:
    """Return the action to request from Ironic in the node's present state."""
    return _WAY[str(node["provision_state"])][0]


def _card(node: Mapping[str, Any], error: str) -> MachineCard:
    failed = node["provision_state"] == "clean failed"
    return MachineCard(
        what=f"{'its disks were not erased' if failed else 'it does not leave'}: {error}",
        why="it is not ready for anything else, and its data are on it",
        remedy="mend it, then run this again; a machine whose controller is dead: erase_force: [disks, dead]",
    )


def leave(
    ironic: Ironic, leaving: LeavingMachine, journal: Journal, records: Path, say: Callable[[str], None]
) -> Path | None:
    """Deprovision a machine; return its erasure's record, None when nothing was erased. Raises GroundupError."""
    deadline, tried = time.monotonic() + leaving.timeout, frozenset[str]()
    fresh = True
    while True:
        try:
            node = ironic.node(leaving.name)
            if fresh and node and node["provision_state"] == "clean failed":
                _recover(ironic, leaving, journal)
                node = ironic.node(leaving.name)
            fresh = False
        except BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(leaving.pause)
            continue
        began = _began(journal, leaving)
        step = next_step(node, erasing=leaving.erasing if began else "", tried=tried)
        if step.verb == "done":
            record = _record(records, leaving, node, began=began) if node and began and step.doing == ERASED else None
            _forget(ironic, leaving, journal, node)
            journal.note(WayStep(state="retired", verb="done", doing=step.doing))
            return record
        if journal.note(step):
            say(f"{leaving.name}: {step.state}, {step.doing or (step.card.what if step.card else '')}")
            deadline = time.monotonic() + leaving.timeout
        if step.card:
            raise step.card.at(leaving.name)
        verb = verb_of(node or {})
        if verb != "wait":
            with suppress(BusyError):
                _carry_out(ironic, leaving, verb)
                tried |= {verb}
                if verb == "erase":  # journal it before it can end
                    journal.note(WayStep(state="retiring", verb="wait", doing=leaving.erasing))
        if verb not in tried and time.monotonic() > deadline:
            card = MachineCard(
                what=f"nothing has changed: {step.doing}",
                why=f"{leaving.timeout:g} s without a step of its way",
                remedy="see its console, and journalctl -u ironic on the seed",
            )
            raise given_up(leaving.name, card, journal)
        time.sleep(leaving.pause)


def _began(journal: Journal, leaving: LeavingMachine) -> float | None:
    """Return when this erasure was requested; None when the journal's last line is not of it."""
    lines = reversed(journal.lines())
    mine = [float(line["time"]) for line in takewhile(lambda line: line.get("doing") == leaving.erasing, lines)]
    return mine[-1] if mine else None


def _recover(ironic: Ironic, leaving: LeavingMachine, journal: Journal) -> None:
    """Make a machine whose erasure failed in an earlier run manageable, so that it is erased again."""
    journal.note(WayStep(state="retiring", verb="wait", doing="its erasure failed before, and is begun again"))
    ironic.hold(leaving.name, on=False)
    ironic.provision(leaving.name, "manage")


def _carry_out(ironic: Ironic, leaving: LeavingMachine, verb: str) -> None:
    if verb != "erase":
        if verb == "deleted":
            _unexpect(ironic, leaving)  # stops the seed's runner on it
        ironic.provision(leaving.name, verb)
        return
    step = {"interface": "deploy", "step": STEPS[leaving.method]}
    ironic.provision(leaving.name, "clean", clean_steps=[step])


def detach(ironic: Ironic, leaving: LeavingMachine, journal: Journal, records: Path) -> Path | None:
    """Delete the node of a machine whose controller is dead, without erasing its disks. Raises GroundupError."""
    node, record = ironic.node(leaving.name), None
    if node:
        record = _record(records, leaving, node, began=time.time(), erased=False)
        ironic.hold(leaving.name, on=True, why="detached by force")
        ironic.delete(leaving.name)
    if node or unfinished(journal):
        _unexpect(ironic, leaving)
        journal.note(WayStep(state="retired", verb="done", doing="forgotten; its disks were not erased"))
    return record


def unfinished(journal: Journal) -> bool:
    """Return whether the journal does not end as retired: a run may have been killed after it deleted the node."""
    return journal.last.get("state") not in (None, "retired")


def _forget(ironic: Ironic, leaving: LeavingMachine, journal: Journal, node: Mapping[str, Any] | None) -> None:
    if node and leaving.stays:
        extra: dict[str, Any] = {RETRIES: 0}
        if told := ironic.inventory(leaving.name):  # from before the erasure, which had consent
            with suppress(ValueError):
                extra |= read(node, told).approval(leaving.name)
        ironic.change(leaving.name, {f"/extra/{key}": value for key, value in extra.items()})
    elif node:
        ironic.delete(leaving.name)
    if node or unfinished(journal):
        _unexpect(ironic, leaving)


def _unexpect(ironic: Ironic, leaving: LeavingMachine) -> None:
    ironic.expect(leaving.name, sha256=secrets.token_hex(32))  # a digest of no token; this drops the old call


def _record(
    records: Path, leaving: LeavingMachine, node: Mapping[str, Any], *, began: float, erased: bool = True
) -> Path:
    """Write the record of an erasure; never overwrite one. Raises GroundupError."""
    properties = node.get("properties") or {}
    record = {
        "machine": leaving.name,
        "node": str(node["uuid"]),
        "vendor": properties.get("vendor"),
        "erased": leaving.method if erased else None,
        "step": STEPS[leaving.method] if erased else None,
        "result": "Ironic ended it without an error" if erased else "detached by force: nothing was erased",
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    path = records / f"{leaving.name}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.json"
    if path.exists():
        raise GroundupError(
            "there is a record of this second already",
            where=str(path),
            why="a record of an erasure is never written over",
            remedy="run this again",
        )
    records.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(path, (json.dumps(record, indent=1) + "\n").encode(), mode=0o600)
    return path
