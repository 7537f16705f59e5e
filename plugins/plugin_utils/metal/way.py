"""The way of a machine, from a node nobody looked at to one that is installed: what is to be done next. Pure.

Ironic keeps the state, so a run that was killed goes on where it was: the next step follows from the node and the time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

Verb = Literal["create", "manage", "inspect", "provide", "deploy", "undeploy", "wait", "done", "fail"]
State = Literal[
    "expected", "discovered", "matched", "approved", "inspected", "provisioning", "installed", "configuring", "serving",
    "retiring", "retired", "quarantined", "failed",
]  # fmt: skip
# Seconds after a ramdisk's last call that its inventory is believed; one that waits calls every 90 to 180.
HOLDS = 600.0
ATTEMPTS = 3  # deployments of one machine, over all runs, until somebody looks
RETRIES = "groundup_attempts"  # in a node's `extra`
DISCOVERED = "groundup_discovered"  # there, too: its ramdisk told the seed of it, and is what runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Why a machine does not go on."""

    what: str
    why: str
    remedy: str
    asks: str = ""  # who waits for approval: its node, and a digest of what is on its disks


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where a machine is, and what is done next."""

    state: State
    verb: Verb
    doing: str = ""
    card: Card | None = None


# Ironic's provision state -> ours, what to do, and what is going on.
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

# What Ironic says -> the card. The first that fits; the last fits all.
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


VERBS = ("approve", "retry")  # what a person may decide about a machine


def possible(last: Mapping[str, Any]) -> dict[str, str]:
    """Return why each of ``VERBS`` is not possible after the ``last`` line of a machine's journal, empty when it is."""
    state, asks = str(last.get("state") or "expected"), asked_about(last)
    return {
        "approve": "" if asks else f"it is {state} and does not wait for approval",
        "retry": "" if state == "failed" and not asks else f"it is {state}" + " and waits for approval" * bool(asks),
    }


def asked_about(last: Mapping[str, Any]) -> str:
    """Return who waits for approval by the ``last`` line of a journal, empty when none does."""
    return str((last.get("card") or {}).get("asks") or "")


# Ironic was killed meanwhile: nothing is wrong with the machine, and no attempt of it is spent.
_INTERRUPTED = re.compile(r"can't be resumed by conductor|conductor take over")

_ANEW: dict[str, tuple[State, Verb]] = {
    "inspect failed": ("approved", "inspect"),
    "clean failed": ("inspected", "manage"),
}

# Nobody is asked before a disk is written: what may be in use is left alone by the steps towards a deployment.
_TOWARDS = ("create", "manage", "inspect", "provide", "deploy")
_IN_USE = Card(
    what="it is switched on, before anything was done with it",
    why="somebody may use it, and its disk would be written over",
    remedy="switch it off, then run this again; or write provisioner: existing",
)
_SINCE = replace(_IN_USE, what=f"it is switched on, and its ramdisk has not called for {HOLDS / 60:g} minutes")
_LOST = Card(
    what="it was installed, and the seed's Ironic does not know that",
    why="its disk would be written over",
    remedy="run the playbook groundup.cloud.seed_restore; or move its journal away, below `metal` of the site's state "
    "directory",
)


def next_step(node: Mapping[str, Any] | None, *, asked: bool = False, installed: bool = False) -> Step:
    """Return what to do with ``node``, as Ironic's API shows it; None: Ironic does not know it.

    ``asked``: this run has had its management controller asked, so that an error there is of now. ``installed``: by its
    journal it was installed once.
    """
    step, known = _next_step(node, asked=asked), node or {}
    if step.verb not in _TOWARDS:
        return step
    if installed:
        return Step(state="failed", verb="fail", card=_LOST)
    if known.get("power_state") == "power on" and not (attempts(known) or told(known)):  # else we switched it on
        return Step(state="failed", verb="fail", card=_SINCE if inspected(known) else _IN_USE)
    return step


def _next_step(node: Mapping[str, Any] | None, *, asked: bool) -> Step:
    if node is None:
        return Step(state="expected", verb="create", doing="enrolled")
    provision, error = str(node["provision_state"]), str(node.get("last_error") or "")
    cut = bool(_INTERRUPTED.search(error))
    held = node.get("maintenance") and provision != "active"
    held = held or (asked and provision == "enroll" and error and not cut)
    if provision == "deploy failed" and not held and (cut or (attempts(node) < ATTEMPTS and not _lasting(error))):
        return Step(state="provisioning", verb="deploy", doing=f"attempt {next_attempt(node)} of {ATTEMPTS}: {error}")
    if provision in _ANEW and not held and (cut or (provision == "inspect failed" and not asked)):
        state, verb = _ANEW[provision]
        return Step(state=state, verb=verb, doing=f"again, after: {error}")
    if provision == "manageable" and (told(node) or (inspected(node) and attempts(node))) and not held:
        return Step(state="inspected", verb="provide", doing="it is what the plan says, and released for installation")
    if held or provision not in _STEPS:
        return _failed(error or str(node.get("maintenance_reason") or f"it is {provision}, no step of its way"))
    state, verb, doing = _STEPS[provision]
    if provision == "available" and inspected(node) and not (told(node) or attempts(node)):
        state, verb, doing = "approved", "manage", "inspected again: somebody may have used it since"
    if state == "expected" and inspected(node):
        state = "approved"  # it was discovered
    return Step(state=state, verb=verb, doing=doing)


def attempts(node: Mapping[str, Any]) -> int:
    """Return how often a deployment of ``node`` was begun, over all runs."""
    return int((node.get("extra") or {}).get(RETRIES, 0))


def next_attempt(node: Mapping[str, Any]) -> int:
    """Return the number of the deployment that begins now: one more, unless Ironic was killed in the last one."""
    cut = node["provision_state"] == "deploy failed" and _INTERRUPTED.search(str(node.get("last_error") or ""))
    return max(attempts(node) + (not cut), 1)


def inspected(node: Mapping[str, Any]) -> bool:
    """Say whether a ramdisk told what ``node`` is."""
    return bool(node.get("inspection_finished_at") or (node.get("extra") or {}).get(DISCOVERED))


def told(node: Mapping[str, Any]) -> bool:
    """Say whether what a ramdisk told of ``node`` holds: it runs yet, or has told it just now."""
    called = (node.get("driver_internal_info") or {}).get("agent_last_heartbeat")
    found = node.get("created_at") if (node.get("extra") or {}).get(DISCOVERED) else None  # by what its ramdisk told
    ages = (_age(str(at)) for at in (node.get("inspection_finished_at"), called, found) if at)
    return inspected(node) and min(ages, default=float("inf")) <= HOLDS


def _age(at: str) -> float:
    """Return the seconds since a time of Ironic's, which is UTC with or without saying so."""
    try:
        return time.time() - datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return float("inf")


def ramdisk_silent(node: Mapping[str, Any]) -> bool:
    """Say whether the ramdisk that inspected ``node`` still runs and has not said where it is reached."""
    asked = inspected(node) and not attempts(node) and node.get("power_state") == "power on"
    return bool(asked and not (node.get("driver_internal_info") or {}).get("agent_url"))


def last_heard(node: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the last sign of a ramdisk that installs ``node``, empty when there was none, and whether it was a call.

    Its first sign is its question for a token. Ironic answers once, so a ramdisk whose answer got lost never calls.
    One that lost its power and boots again has another certificate: Ironic refuses its calls, and tells nobody.
    """
    known = node.get("driver_internal_info") or {}
    if node.get("provision_state") != "wait call-back":
        return "", False
    if known.get("agent_url"):
        return str(known.get("agent_last_heartbeat") or "called"), True
    asked = known.get("agent_secret_token") and not known.get("agent_secret_token_pregenerated")  # on its medium
    return "asked" if asked else "", False


def _lasting(error: str) -> bool:
    """Say whether another attempt would fail for the same reason."""
    return any(re.search(pattern, error) for pattern in (_CARDS[0][0], _CARDS[3][0], _CARDS[4][0]))


def _failed(error: str) -> Step:
    for pattern, what, why, remedy in _CARDS:
        if re.search(pattern, error):
            return Step(state="failed", verb="fail", card=Card(what=f"{what}: {error}", why=why, remedy=remedy))
    why, remedy = "it does not go on by itself", "see journalctl -u ironic on the seed, then run this again"
    return Step(state="failed", verb="fail", card=Card(what=error, why=why, remedy=remedy))
