"""What a run does not believe, begin or go on with: a journal that hides an installation, a way that hangs."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.batch import LeftError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.provision import provision
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import (
    DISCOVERED,
    RETRIES,
    MachineCard,
    WayStep,
    next_step,
)
from ansible_collections.groundup.cloud.tests.unit.metal.test_way import CALLS, YOUNG, Seed, go, states, wanted

OLD = {"inspection_finished_at": "2026-01-01T00:00:00+00:00"}
FOUND = {"extra": {DISCOVERED: True}}
LAST_CALL = {"driver_internal_info": {"agent_last_heartbeat": "2026-01-01T00:00:00.123456"}}


def test_a_machine_that_calls_home_after_it_was_given_up_is_journaled_as_installed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.note(WayStep(state="failed", verb="fail", card=MachineCard(what="no power", why="", remedy="")))
    seed = Seed(*states("active"))
    seed.called = {"called": 1.0, "host_keys": ["ssh-ed25519 AAAA"]}
    go(seed, tmp_path / "journal")
    assert Journal(tmp_path / "journal").installed, "nothing else keeps its disk when the seed loses its database"
    before = Journal(tmp_path / "journal").lines()
    go(seed, tmp_path / "journal")
    assert Journal(tmp_path / "journal").lines() == before


class Busy(Seed):
    """Something else holds its node for ever."""

    asked = 0

    def change(self, _identity: str, fields: dict[str, Any]) -> None:
        del fields
        self.asked += 1
        assert self.asked < 50, "nothing ends it"
        raise BusyError("locked", where="", why="", remedy="")


def test_a_node_that_something_else_holds_for_ever_has_failed(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="nothing has changed: installation begins"):
        go(Busy(*states("available")), tmp_path / "journal", timeout=0)
    assert Journal(tmp_path / "journal").last["state"] == "failed"


def test_once_enough_serve_nothing_is_begun_and_no_deployment_is_asked_for_twice(tmp_path: Path) -> None:
    left = threading.Event()

    class Leaves(Seed):
        """Enough serve while it is asked for the deployment; what it lists is older than that."""

        def provision(self, _identity: str, verb: str, **more: Any) -> None:
            super().provision(_identity, verb, **more)
            left.set()

    seed = Leaves(*states("available"))
    for done in (["expect m", f"change /extra/{RETRIES} 1", "active"], []):
        given: Any = seed
        seed.done = []
        with pytest.raises(LeftError):
            provision(given, wanted(), Journal(tmp_path / "j"), lambda _line: None, timeout=5, pause=5, left=left)
        assert seed.done == done, "a second token would be another than that of its configuration drive"


def test_a_machine_that_is_given_up_has_failed_and_may_be_tried_again(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="did not call home"):
        go(Seed(*states("active")), tmp_path / "journal", timeout=0)
    last = Journal(tmp_path / "journal").last
    assert (last["state"], last["card"]["what"]) == ("failed", "it did not call home after its installation")


@pytest.mark.parametrize(
    "told", [OLD, {**OLD, **LAST_CALL}, {**FOUND, **LAST_CALL}, {**OLD, "created_at": YOUNG}, FOUND]
)
@pytest.mark.parametrize("state", ["manageable", "available"])
def test_a_machine_that_somebody_uses_since_its_inspection_is_not_written_over(
    state: str, told: dict[str, Any]
) -> None:
    step = next_step({"provision_state": state, "power_state": "power on", **told})
    assert step.card
    assert "its ramdisk has not called for 10 minutes" in step.card.what
    again = next_step({"provision_state": state, "power_state": "power off", **told})
    assert again.verb == {"manageable": "inspect", "available": "manage"}[state]


@pytest.mark.parametrize(
    "told", [{**OLD, **CALLS}, {**FOUND, **CALLS}, {**FOUND, "created_at": YOUNG}, {"inspection_finished_at": YOUNG}]
)
@pytest.mark.parametrize(("state", "verb"), [("manageable", "provide"), ("available", "deploy")])
def test_a_ramdisk_that_waits_for_approval_for_days_is_not_booted_twice(
    state: str, verb: str, told: dict[str, Any]
) -> None:
    assert next_step({"provision_state": state, "power_state": "power on", **told}).verb == verb


def test_a_machine_that_was_off_since_its_inspection_is_inspected_again_and_then_installed(tmp_path: Path) -> None:
    old = {"provision_state": "available", "power_state": "power off", **OLD}
    on = {"power_state": "power on", "inspection_finished_at": YOUNG}
    agent = {"driver_internal_info": {"agent_url": "https://10.0.0.64:9999"}}
    seed = Seed(
        old, {**old, "provision_state": "manageable"}, *states("inspect wait"), {"provision_state": "manageable", **on},
        {"provision_state": "available", **on, **agent}, *states("active"),
    )  # fmt: skip
    go(seed, tmp_path / "journal")
    assert [verb for verb in seed.done if " " not in verb] == ["manage", "inspect", "provide", "active"]


def test_a_node_with_401_in_its_id_has_no_wrong_password() -> None:
    error = "Timeout reached while waiting for callback for node 6f7c401a-6d1b-5c57-9d0a-67726f756e64"
    assert next_step({"provision_state": "deploy failed", "last_error": error}).verb == "deploy", "it is tried again"


def test_one_that_serves_is_not_installed_again_because_a_restored_seed_has_it_as_failed(tmp_path: Path) -> None:
    Journal(tmp_path / "journal").note(WayStep(state="installed", verb="done", doing="it called home"))
    Journal(tmp_path / "journal").note(WayStep(state="serving", verb="done", doing="verified up to host"))
    said = "the backup b was taken while it was deploying: see what it is now, then begin again"
    node = {"provision_state": "deploy failed", "last_error": said}
    seed = Seed({**node, "maintenance": True}, node)
    with pytest.raises(GroundupError, match="it was installed"):
        go(seed, tmp_path / "journal", again=True)
    assert seed.done == ["hold False"], "its disk would be written over, to which nobody consented"


def test_what_ironic_refuses_of_one_that_begins_again_is_a_card_in_its_journal(tmp_path: Path) -> None:
    def refuse(_token: str) -> dict[str, Any]:
        raise GroundupError("the drive is too large", where="m", why="", remedy="shorten it")

    work = replace(wanted(), configdrive=refuse)
    with pytest.raises(GroundupError, match="too large"):
        go(Seed(*states("deploy failed")), tmp_path / "journal", again=True, work=work)
    assert Journal(tmp_path / "journal").last["state"] == "failed", "else the table has it on its way for ever"


@pytest.mark.parametrize("state", ["enroll", "manageable", "available", "deploy failed"])
def test_no_power_is_asked_for_where_the_controller_is_another_machines(tmp_path: Path, state: str) -> None:
    seed = Seed(*states(state))
    card = MachineCard(what="the management controller of m is that of n", why="w", remedy="r")
    with pytest.raises(GroundupError, match="is that of n"):
        go(seed, tmp_path / "journal", work=replace(wanted(), guard=lambda: card))
    assert seed.done == []
    assert Journal(tmp_path / "journal").last["card"]["what"] == card.what


def test_a_machine_that_serves_asks_its_controller_for_nothing(tmp_path: Path) -> None:
    seed = Seed(*states("active"))
    seed.called = {"called": 1.0, "host_keys": ["ssh-ed25519 AAAA"]}
    assert go(seed, tmp_path / "journal", work=replace(wanted(), guard=lambda: pytest.fail("it is asked")))


def test_no_failed_machine_begins_again_by_the_controller_of_another(tmp_path: Path) -> None:
    seed, card = (
        Seed(*states("deploy failed")),
        MachineCard(what="the management controller of m is that of n", why="", remedy=""),
    )
    with pytest.raises(GroundupError, match="is that of n"):
        go(seed, tmp_path / "journal", again=True, work=replace(wanted(), guard=lambda: card))
    assert seed.done == []


@pytest.mark.parametrize(
    "state", [{}, {"inspection_finished_at": YOUNG, "power_state": "power on"}], ids=["inspect", "provide"]
)
def test_power_is_asked_of_the_controller_that_the_site_file_has_now(tmp_path: Path, state: dict[str, Any]) -> None:
    seed, work = Seed(*states("manageable")), wanted()
    seed.states = [{"provision_state": "manageable", **state}]
    work.node["driver_info"] = {"redfish_address": "https://10.77.1.9"}
    with pytest.raises(GroundupError):
        go(seed, tmp_path / "journal", timeout=0, work=work)
    assert seed.changed[0]["/driver_info"] == {"redfish_address": "https://10.77.1.9"}
    assert seed.done[0] == ("provide" if state else "inspect")
