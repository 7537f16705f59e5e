"""A machine's way out: nothing counts as erased that was not, and a killed run goes on."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.leave import LeavingMachine, detach, leave
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import read
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import RETRIES, MachineCard, WayStep
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import USED, told

LEAVING = LeavingMachine(name="worker-1", pause=0, timeout=5)
_AFTER = {"deleted": "available", "manage": "manageable", "clean": "cleaning"}


class Seed:
    """Ironic as far as a way out asks for it: a node whose state follows from what is asked."""

    def __init__(self, state: str | None, *, fails: bool = False, **more: Any) -> None:
        self.known: dict[str, Any] | None = {"uuid": "u", "provision_state": state, **more} if state else None
        self.done, self._fails = list[str](), fails
        self.told: dict[str, Any] | None = None

    def node(self, _identity: str) -> dict[str, Any] | None:
        found = dict(self.known) if self.known else None
        if self.known and found and found["provision_state"] == "cleaning":
            failed = {"provision_state": "clean failed", "last_error": "a disk refuses", "maintenance": True}
            self.known |= failed if self._fails else {"provision_state": "manageable"}
        return found

    def provision(self, _identity: str, verb: str, **more: Any) -> None:
        assert self.known
        self.done.append(" ".join([verb, *(step["step"] for step in more.get("clean_steps", ()))]))
        self.known["provision_state"] = _AFTER[verb]

    def hold(self, _identity: str, *, on: bool, why: str = "") -> None:
        assert self.known
        assert why or not on
        self.done.append(f"hold {on}")
        self.known["maintenance"] = on

    def inventory(self, _identity: str) -> dict[str, Any] | None:
        return self.told

    def change(self, _identity: str, fields: dict[str, Any]) -> None:
        self.done.append(f"change {fields}")

    def delete(self, _identity: str) -> None:
        self.done.append("delete")
        self.known = None

    def expect(self, _name: str, *, sha256: str) -> None:
        self.done.append("expect")
        assert len(sha256) == 64


def go(seed: Seed, home: Path, leaving: LeavingMachine = LEAVING) -> dict[str, Any] | None:
    given: Any = seed
    record = leave(given, leaving, Journal(home / "journal"), home / "records", lambda _line: None)
    return dict(json.loads(record.read_text())) if record else None


class _KilledError(Exception):
    """The run ends here."""


def killed_while_erasing(seed: Seed, home: Path) -> None:
    """Let a run end when the erasure has just been asked for."""
    node = seed.node

    def killed(_identity: str) -> dict[str, Any] | None:
        if seed.done and seed.done[-1].startswith("clean"):
            raise _KilledError
        return node(_identity)

    seed.node = killed  # type: ignore[method-assign]
    with pytest.raises(_KilledError):
        go(seed, home)
    seed.node = node  # type: ignore[method-assign]


def test_a_machine_that_leaves_is_erased_forgotten_and_recorded(tmp_path: Path) -> None:
    seed = Seed("active", properties={"vendor": "Dell Inc."})
    record = go(seed, tmp_path) or {}
    assert seed.done == ["expect", "deleted", "manage", "clean erase_devices_metadata", "delete", "expect"]
    assert (record["machine"], record["erased"], record["vendor"]) == ("worker-1", "metadata", "Dell Inc.")
    assert [line["state"] for line in Journal(tmp_path / "journal").lines()][-1] == "retired"


def test_one_that_is_installed_again_stays_known_and_is_counted_anew(tmp_path: Path) -> None:
    seed = Seed("active")
    go(seed, tmp_path, replace(LEAVING, stays=True, method="full"))
    assert seed.done == [
        "expect",
        "deleted",
        "manage",
        "clean erase_devices",
        f"change {{'/extra/{RETRIES}': 0}}",
        "expect",
    ]
    assert not Journal(tmp_path / "journal").installed


def test_what_its_inventory_shows_of_before_its_erasure_is_not_asked_about_again(tmp_path: Path) -> None:
    seed = Seed("active", extra={"groundup_approved": "worker-1"})  # in a time when approvals did not say of what
    seed.told = told(1, groundup_disks=[USED])
    go(seed, tmp_path, replace(LEAVING, stays=True))
    extra = {RETRIES: 0, **read({"uuid": "u"}, seed.told).approval("worker-1")}
    assert f"change { {f'/extra/{key}': value for key, value in extra.items()} }" in seed.done


def test_a_failed_erasure_is_a_card_never_ready_and_begun_again_by_the_next_run(tmp_path: Path) -> None:
    seed = Seed("active", fails=True)
    for _ in range(2):  # the second run finds it failed, and fails again
        with pytest.raises(GroundupError, match="its disks were not erased: a disk refuses"):
            go(seed, tmp_path)
        assert Journal(tmp_path / "journal").lines()[-1]["state"] == "failed"
        assert Journal(tmp_path / "journal").leaving, "no run installs it meanwhile"
    assert seed.known
    assert not list(tmp_path.glob("records/*"))
    healed = Seed("clean failed", maintenance=True)
    assert go(healed, tmp_path)
    assert healed.done[:3] == ["hold False", "manage", "clean erase_devices_metadata"]


@pytest.mark.parametrize("state", ["available", "manageable", "deploy failed", "error", "wait call-back"])
def test_a_run_that_was_killed_goes_on_and_erases_what_it_did_not_see_erased(state: str, tmp_path: Path) -> None:
    Journal(tmp_path / "journal").note(
        WayStep(state="retiring", verb="wait", doing="taken out of what may be installed")
    )
    seed = Seed(state)
    assert go(seed, tmp_path)
    assert "clean erase_devices_metadata" in seed.done


def test_an_erasure_that_ended_while_nobody_looked_is_not_done_twice(tmp_path: Path) -> None:
    seed = Seed("active")
    killed_while_erasing(seed, tmp_path)
    asked = Journal(tmp_path / "journal").last["time"]
    record = go(seed, tmp_path)
    assert record
    assert record["began"] == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(asked))
    assert seed.done == ["expect", "deleted", "manage", "clean erase_devices_metadata", "delete", "expect"]


@pytest.mark.parametrize("ended", [False, True])
def test_an_erasure_is_not_taken_for_one_by_another_method(tmp_path: Path, ended: bool) -> None:
    seed = Seed("active")
    killed_while_erasing(seed, tmp_path)
    if ended:
        seed.node("worker-1")
    record = go(seed, tmp_path, replace(LEAVING, method="full"))
    assert record
    assert (record["step"], seed.done[-3]) == ("erase_devices", "clean erase_devices")


def test_a_cleaning_that_was_not_asked_for_here_is_no_erasure(tmp_path: Path) -> None:
    seed = Seed("cleaning")
    assert go(seed, tmp_path)
    assert seed.done == ["clean erase_devices_metadata", "delete", "expect"]


def test_an_erasure_that_outlived_the_patience_of_a_run_is_waited_for_by_the_next(tmp_path: Path) -> None:
    seed = Seed("active")
    killed_while_erasing(seed, tmp_path)
    card = MachineCard(what="nothing has changed", why="", remedy="")
    Journal(tmp_path / "journal").note(WayStep(state="failed", verb="fail", doing=LEAVING.erasing, card=card))
    assert go(seed, tmp_path)
    assert seed.done.count("clean erase_devices_metadata") == 1


def test_an_erasure_that_takes_longer_than_the_run_has_failed_and_is_not_done_twice(tmp_path: Path) -> None:
    seed = Seed("manageable")
    look = seed.node
    seed.node = lambda _identity: dict(seed.known or {})  # type: ignore[method-assign]
    with pytest.raises(GroundupError, match="nothing has changed: its disks are being erased"):
        go(seed, tmp_path, replace(LEAVING, timeout=0))
    assert Journal(tmp_path / "journal").last["state"] == "failed"
    seed.node = look  # type: ignore[method-assign]
    assert seed.known
    seed.known["provision_state"] = "manageable"  # it ended meanwhile
    assert go(seed, tmp_path)
    assert seed.done == ["clean erase_devices_metadata", "delete", "expect"]


def test_one_whose_maintenance_nobody_ended_is_not_believed_erased(tmp_path: Path) -> None:
    Journal(tmp_path / "journal").note(WayStep(state="retiring", verb="wait", doing=LEAVING.erasing))
    seed = Seed("manageable", maintenance=True, last_error="a disk refuses")
    with pytest.raises(GroundupError, match="a disk refuses"):
        go(seed, tmp_path)


def test_a_controller_that_refuses_is_a_card_and_not_asked_for_ever(tmp_path: Path) -> None:
    seed = Seed("active")

    def refused(_identity: str, verb: str, **_more: Any) -> None:
        seed.done.append(verb)
        assert seed.known
        seed.known |= {"provision_state": "error", "last_error": "Failed to set power state"}

    seed.provision = refused  # type: ignore[method-assign]
    with pytest.raises(GroundupError, match="Failed to set power state") as failed:
        go(seed, tmp_path)
    assert "dead" in failed.value.remedy
    assert seed.done == ["expect", "deleted"]


def test_a_node_that_something_else_holds_for_ever_does_not_leave(tmp_path: Path) -> None:
    seed = Seed("available")

    def locked(_identity: str, verb: str, **_more: Any) -> None:
        seed.done.append(verb)
        assert len(seed.done) < 50, "nothing ends it"
        raise BusyError("locked", where="", why="", remedy="")

    seed.provision = locked  # type: ignore[method-assign]
    with pytest.raises(GroundupError, match="nothing has changed: taken out of what may be installed"):
        go(seed, tmp_path, replace(LEAVING, timeout=0))
    assert Journal(tmp_path / "journal").last["state"] == "failed"


def test_a_dead_machine_is_detached_and_the_record_says_that_nothing_was_erased(tmp_path: Path) -> None:
    seed, journal = Seed("deploy failed"), Journal(tmp_path / "journal")
    given: Any = seed
    record = detach(given, LEAVING, journal, tmp_path / "records")
    assert record
    assert json.loads(record.read_text())["erased"] is None
    assert seed.done == ["hold True", "delete", "expect"]
    assert journal.lines()[-1]["doing"] == "forgotten; its disks were not erased"
    assert detach(given, LEAVING, journal, tmp_path / "records") is None
    assert seed.done == ["hold True", "delete", "expect"], "once"


@pytest.mark.parametrize("dead", [False, True])
def test_one_whose_run_was_killed_when_ironic_had_just_forgotten_it_has_left(tmp_path: Path, dead: bool) -> None:
    journal = Journal(tmp_path / "journal")
    journal.note(WayStep(state="installed", verb="done"))
    given: Any = (seed := Seed(None))
    for _ in range(2):
        (detach(given, LEAVING, journal, tmp_path / "records") if dead else go(seed, tmp_path))
        assert not Journal(tmp_path / "journal").installed
        assert seed.done == ["expect"], "its call is forgotten, once"


def test_a_name_that_nobody_knows_leaves_no_trace_at_the_seed(tmp_path: Path) -> None:
    given: Any = (seed := Seed(None))
    assert detach(given, LEAVING, Journal(tmp_path / "journal"), tmp_path / "records") is None
    assert seed.done == []


def test_a_machine_that_was_never_installed_leaves_without_an_erasure(tmp_path: Path) -> None:
    seed = Seed("enroll")
    assert go(seed, tmp_path) is None
    assert seed.done == ["delete", "expect"]
