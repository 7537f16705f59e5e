"""Provisioning state machine: the next step of a machine from enrolment to installed. Pure.

Ironic keeps the state, so a killed run continues: the next step follows from the node and the time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from ...module_utils._base.faults import Fault

Verb = Literal["create", "manage", "inspect", "provide", "deploy", "undeploy", "wait", "done", "fail"]
State = Literal[
    "expected", "discovered", "matched", "approved", "inspected", "provisioning", "installed", "configuring", "serving",
    "retiring", "retired", "quarantined", "failed",
]  # fmt: skip
# Seconds after a ramdisk's last heartbeat in which its inventory is valid; a waiting ramdisk sends one every 90 to 180.
HOLDS = 600.0
ATTEMPTS = 3  # deployments of one machine, over all runs, until an operator retries it
RETRIES = "groundup_attempts"  # in a node's `extra`
DISCOVERED = "groundup_discovered"  # in a node's `extra`: its ramdisk reported it to the seed, and still runs


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCard(Fault):
    """A machine's failure card: why it does not go on."""

    asks: str = ""  # when it waits for approval: its node, and a digest of its disks' contents


@dataclass(frozen=True, slots=True, kw_only=True)
class WayStep:
    """A machine's state, and the next action."""

    state: State
    verb: Verb
    doing: str = ""
    card: MachineCard | None = None


# Ironic's provision state -> our state, action, and description.
_STEPS: dict[str, tuple[State, Verb, str]] = {
    "enroll": ("expected", "manage", "its management controller is asked"),
    "verifying": ("expected", "wait", "its management controller is asked"),
    "manageable": ("approved", "inspect", "its ramdisk is to tell what it is"),
    "inspecting": ("approved", "wait", "its boot medium is made"),
    "inspect wait": ("approved", "wait", "its ramdisk boots and tells what it is"),
    "cleaning": ("inspected", "wait", "its disks are cleaned"),
    "clean wait": ("inspected", "wait", "its disks are cleaned"),
    "available": ("inspected", "deploy", "installation begins"),
    "deploying": ("provisioning", "wait", "its boot medium is made, or its system is finished"),
    "wait call-back": ("provisioning", "wait", "its ramdisk boots, or writes the system"),
    "deleting": ("provisioning", "wait", "its installation is taken back"),
    "active": ("installed", "done", "its system is written"),
}

# Pattern of Ironic's error -> card. The first match counts; `_failed` has the card without a match.
_CARDS: tuple[tuple[str, str, str, str], ...] = (
    (r"AccessError|\b401\b|[Aa]uthentication|Unauthorized|credentials",
     "its management controller refuses user or password", "the machine can neither be switched on nor booted",
     "write the right password into the secrets store, under the name of bmc.credentials, and the user as bmc.user"),
    (r"image href", "the seed does not give the image", "there is nothing to write",
     "run the playbook groundup.cloud.seed; on the seed: journalctl -u nginx"),
    (r"Unable to connect|ConnectionError|[Cc]onnection (refused|timed out)|No route to host|Max retries",
     "its management controller is not reached", "the machine can neither be switched on nor booted",
     "see its cable and power, and bmc.address; from the seed: curl -k https://ADDRESS/redfish/v1"),
    (r"[Cc]hecksum|digest", "the image has another digest than the site's", "what was fetched was not written",
     "run the playbook groundup.cloud.seed, which publishes it again"),
    (r"No suitable device|no disk|root device", "it has no disk that fits", "there is nothing to write the system to",
     "see the machine's disks; the image needs 4 GiB"),
    (r"[Tt]imeout reached while waiting for callback", "its ramdisk never called",
     "it did not boot from the medium, or does not reach the seed from the plan's network",
     "see its console; compare its MAC address and cabling with the site file"),
)  # fmt: skip


VERBS = ("approve", "retry")  # an operator's decisions about a machine


def possible(last: Mapping[str, Any]) -> dict[str, str]:
    """Return why each of ``VERBS`` is not possible after the ``last`` line of a journal, "" when it is."""
    state, asks = str(last.get("state") or "expected"), asked_about(last)
    return {
        "approve": "" if asks else f"it is {state} and does not wait for approval",
        "retry": "" if state == "failed" and not asks else f"it is {state}" + " and waits for approval" * bool(asks),
    }


def asked_about(last: Mapping[str, Any]) -> str:
    """Return the node and disks that wait for approval by the ``last`` line of a journal, "" when none do."""
    return str((last.get("card") or {}).get("asks") or "")


# Ironic was killed meanwhile: the machine has no fault, and this attempt does not count.
_INTERRUPTED = re.compile(r"can't be resumed by conductor|conductor take over")

_ANEW: dict[str, tuple[State, Verb]] = {
    "inspect failed": ("approved", "inspect"),
    "clean failed": ("inspected", "manage"),
}

# Disks are overwritten without a question, so these steps refuse a machine that may be in use.
_TOWARDS = ("create", "manage", "inspect", "provide", "deploy")
_IN_USE = MachineCard(
    what="it is switched on, before anything was done with it",
    why="somebody may use it, and its disk would be written over",
    remedy="switch it off, then run this again; or write provisioner: existing",
)
_SINCE = replace(_IN_USE, what=f"it is switched on, and its ramdisk has not called for {HOLDS / 60:g} minutes")
_LOST = MachineCard(
    what="it was installed, and the seed's Ironic does not know that",
    why="its disk would be written over",
    remedy="run the playbook groundup.cloud.seed_restore; or move its journal away, below `metal` of the site's state "
    "directory",
)


def next_step(node: Mapping[str, Any] | None, *, asked: bool = False, installed: bool = False) -> WayStep:
    """Return the next step for ``node``, in the form of Ironic's API; None: Ironic does not know it.

    ``asked``: in this run Ironic contacted the management controller, so that its error is current. ``installed``: the
    journal says that the machine was installed.
    """
    step, known = _next_step(node, asked=asked), node or {}
    if step.verb not in _TOWARDS:
        return step
    if installed:
        return WayStep(state="failed", verb="fail", card=_LOST)
    if known.get("power_state") == "power on" and not (attempts(known) or told(known)):  # else a run switched it on
        return WayStep(state="failed", verb="fail", card=_SINCE if inspected(known) else _IN_USE)
    return step


def _next_step(node: Mapping[str, Any] | None, *, asked: bool) -> WayStep:
    if node is None:
        return WayStep(state="expected", verb="create", doing="enrolled")
    provision, error = str(node["provision_state"]), str(node.get("last_error") or "")
    cut = bool(_INTERRUPTED.search(error))
    held = node.get("maintenance") and provision != "active"
    held = held or (asked and provision == "enroll" and error and not cut)
    if provision == "deploy failed" and not held and (cut or (attempts(node) < ATTEMPTS and not _lasting(error))):
        return WayStep(
            state="provisioning", verb="deploy", doing=f"attempt {next_attempt(node)} of {ATTEMPTS}: {error}"
        )
    if provision in _ANEW and not held and (cut or (provision == "inspect failed" and not asked)):
        state, verb = _ANEW[provision]
        return WayStep(state=state, verb=verb, doing=f"again, after: {error}")
    if provision == "manageable" and (told(node) or (inspected(node) and attempts(node))) and not held:
        return WayStep(
            state="inspected", verb="provide", doing="it is what the plan says, and released for installation"
        )
    if held or provision not in _STEPS:
        return _failed(error or str(node.get("maintenance_reason") or f"it is {provision}, no step of its way"))
    state, verb, doing = _STEPS[provision]
    if provision == "available" and inspected(node) and not (told(node) or attempts(node)):
        state, verb, doing = "approved", "manage", "inspected again: somebody may have used it since"
    if state == "expected" and inspected(node):
        state = "approved"  # a discovered machine
    return WayStep(state=state, verb=verb, doing=doing)


def attempts(node: Mapping[str, Any]) -> int:
    """Return the number of deployments of ``node``, over all runs."""
    return int((node.get("extra") or {}).get(RETRIES, 0))


def next_attempt(node: Mapping[str, Any]) -> int:
    """Return the number of the next deployment: one more, unless Ironic was killed in the last one."""
    cut = node["provision_state"] == "deploy failed" and _INTERRUPTED.search(str(node.get("last_error") or ""))
    return max(attempts(node) + (not cut), 1)


def inspected(node: Mapping[str, Any]) -> bool:
    """Return whether a ramdisk has reported the inventory of ``node``."""
    return bool(node.get("inspection_finished_at") or (node.get("extra") or {}).get(DISCOVERED))


def told(node: Mapping[str, Any]) -> bool:
    """Return whether the inventory of ``node`` is valid: reported, or confirmed by a heartbeat, within `HOLDS`."""
    called = (node.get("driver_internal_info") or {}).get("agent_last_heartbeat")
    found = node.get("created_at") if (node.get("extra") or {}).get(DISCOVERED) else None  # by its inventory
    ages = (_age(str(at)) for at in (node.get("inspection_finished_at"), called, found) if at)
    return inspected(node) and min(ages, default=float("inf")) <= HOLDS


def _age(at: str) -> float:
    """Return the seconds since a timestamp of Ironic: UTC, with or without a time zone."""
    try:
        return time.time() - datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return float("inf")


def ramdisk_silent(node: Mapping[str, Any]) -> bool:
    """Return whether the ramdisk that inspected ``node`` still runs, and has not sent its URL yet."""
    asked = inspected(node) and not attempts(node) and node.get("power_state") == "power on"
    return bool(asked and not (node.get("driver_internal_info") or {}).get("agent_url"))


def last_heard(node: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the last sign of life of a deploying ramdisk, "" without one, and whether it was a heartbeat.

    The first sign is its request for a token. Ironic answers it once: a ramdisk that lost the answer never sends a
    heartbeat. After a power loss it boots with another certificate: Ironic then refuses its heartbeats silently.
    """
    known = node.get("driver_internal_info") or {}
    if node.get("provision_state") != "wait call-back":
        return "", False
    if known.get("agent_url"):
        return str(known.get("agent_last_heartbeat") or "called"), True
    asked = known.get("agent_secret_token") and not known.get("agent_secret_token_pregenerated")  # on its boot medium
    return "asked" if asked else "", False


def _lasting(error: str) -> bool:
    """Return whether another attempt would fail for the same reason."""
    return any(re.search(pattern, error) for pattern in (_CARDS[0][0], _CARDS[3][0], _CARDS[4][0]))


def _failed(error: str) -> WayStep:
    for pattern, what, why, remedy in _CARDS:
        if re.search(pattern, error):
            return WayStep(
                state="failed", verb="fail", card=MachineCard(what=f"{what}: {error}", why=why, remedy=remedy)
            )
    why, remedy = "it does not go on by itself", "see journalctl -u ironic on the seed, then run this again"
    return WayStep(state="failed", verb="fail", card=MachineCard(what=error, why=why, remedy=remedy))
