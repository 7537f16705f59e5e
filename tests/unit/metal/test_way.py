"""The way of a machine: what is done next follows from the node alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.provision import Deployment, provision
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import (
    ATTEMPTS,
    DISCOVERED,
    RETRIES,
    MachineCard,
    WayStep,
    next_step,
)

YOUNG = "2999-01-01T00:00:00+00:00"  # no suite is slow enough for it to grow old
CALLS = {"driver_internal_info": {"agent_last_heartbeat": "2999-01-01T00:00:00.000000"}}
CUT = "The deploying state can't be resumed by conductor seed. Moving to fail state."
UNREACHED = "Failed to get power state: Unable to connect to https://10.0.0.9"


@pytest.mark.parametrize(
    ("node", "state", "verb"),
    [
        (None, "expected", "create"),
        ({"provision_state": "enroll"}, "expected", "manage"),
        ({"provision_state": "enroll", "last_error": UNREACHED}, "expected", "manage"),
        ({"provision_state": "verifying"}, "expected", "wait"),
        ({"provision_state": "manageable"}, "approved", "inspect"),
        ({"provision_state": "manageable", "power_state": "power off"}, "approved", "inspect"),
        ({"provision_state": "inspect wait"}, "approved", "wait"),
        ({"provision_state": "inspect failed", "last_error": "?"}, "approved", "inspect"),
        ({"provision_state": "manageable", "inspection_finished_at": YOUNG}, "inspected", "provide"),
        (
            {"provision_state": "manageable", "power_state": "power on", "extra": {DISCOVERED: True}, **CALLS},
            "inspected",
            "provide",
        ),
        ({"provision_state": "manageable", "power_state": "power on"}, "failed", "fail"),
        ({"provision_state": "available"}, "inspected", "deploy"),
        ({"provision_state": "available", "power_state": "power on"}, "failed", "fail"),
        ({"provision_state": "available", "power_state": "power on", "extra": {RETRIES: 1}}, "inspected", "deploy"),
        ({"provision_state": "wait call-back"}, "provisioning", "wait"),
        ({"provision_state": "deploying"}, "provisioning", "wait"),
        ({"provision_state": "active"}, "installed", "done"),
        ({"provision_state": "active", "maintenance": True}, "installed", "done"),
        ({"provision_state": "available", "maintenance": True}, "failed", "fail"),
        ({"provision_state": "clean failed", "last_error": "a disk"}, "failed", "fail"),
        ({"provision_state": "clean failed", "last_error": CUT}, "inspected", "manage"),
        ({"provision_state": "clean failed", "last_error": CUT, "maintenance": True}, "failed", "fail"),
        ({"provision_state": "deploy failed", "last_error": "?"}, "provisioning", "deploy"),
        ({"provision_state": "deploy failed", "last_error": "?", "extra": {RETRIES: ATTEMPTS}}, "failed", "fail"),
        ({"provision_state": "deploy failed", "last_error": "checksum mismatch"}, "failed", "fail"),
        (
            {"provision_state": "deploy failed", "last_error": CUT, "extra": {RETRIES: ATTEMPTS}},
            "provisioning",
            "deploy",
        ),
    ],
)
def test_the_next_step_follows_from_the_node(node: dict[str, Any] | None, state: str, verb: str) -> None:
    step = next_step(node)
    assert (step.state, step.verb) == (state, verb)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UNREACHED, "is not reached"),
        ("AccessError: HTTP GET returned 401", "refuses user or password"),
        ("Validation of image href https://10.0.0.8/m failed: Max retries exceeded", "does not give the image"),
        ("Timeout reached while waiting for callback for node x", "its ramdisk never called"),
        ("No suitable device was found for deployment", "no disk that fits"),
        ("something else", "something else"),
    ],
)
def test_what_ironic_says_becomes_a_card_with_a_remedy(error: str, said: str) -> None:
    node = {"provision_state": "deploy failed", "last_error": error, "extra": {RETRIES: ATTEMPTS}}
    card = next_step(node).card
    assert card is not None
    assert said in card.what
    assert card.remedy


class Seed:
    """Ironic as far as a machine's way asks for it: a node that moves one state on each look."""

    def __init__(self, *states: dict[str, Any]) -> None:
        self.states, self.done = list(states), list[str]()
        self.called: dict[str, Any] = {}
        self.changed: list[dict[str, Any]] = []

    def node(self, _identity: str) -> dict[str, Any] | None:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return state or None

    def create(self, node: dict[str, Any], *, mac: str) -> None:
        self.done.append(f"create {node['name']} {mac}")

    def change(self, _identity: str, fields: dict[str, Any]) -> None:
        self.changed.append(fields)
        self.done += [f"change {path} {value}" for path, value in fields.items() if path.startswith("/extra")]

    def hold(self, _identity: str, *, on: bool) -> None:
        self.done.append(f"hold {on}")

    def inventory(self, _identity: str) -> dict[str, Any]:
        return {"inventory": {}}

    def provision(self, _identity: str, verb: str, **more: Any) -> None:
        self.done.append(verb)
        if "configdrive" in more:
            self.called = {"called": 1.0, "host_keys": ["ssh-ed25519 AAAA"], "token": more["configdrive"]["token"]}

    def expect(self, name: str, *, sha256: str, layers: tuple[str, ...] = ()) -> None:
        assert layers == ()
        self.done.append(f"expect {name}")
        assert len(sha256) == 64

    def call_of(self, _name: str) -> dict[str, Any]:
        return self.called


def wanted() -> Deployment:
    empty = dict.fromkeys(("driver_info", "network_data", "boot_interface"), "")
    node = {"uuid": "u", "name": "m", **empty, "properties": {}}
    image = {"url": "https://10.0.0.8/m", "sha256": "0" * 64}
    return Deployment(
        name="m", node=node, mac="52:54:00:00:00:01", image=image, configdrive=lambda token: {"token": token}
    )


def states(*names: str) -> list[dict[str, Any]]:
    return [{"provision_state": name} for name in names]


def go(
    seed: Seed, path: Path, *, timeout: float = 5, again: bool = False, work: Deployment | None = None
) -> dict[str, Any]:
    given: Any = seed
    work = replace(work or wanted(), again=again)
    return provision(given, work, Journal(path), lambda _line: None, timeout=timeout, pause=0)[0]


def test_a_dark_machine_is_expected_before_it_can_call_and_its_way_is_journaled(tmp_path: Path) -> None:
    seen = {"provision_state": "manageable", "inspection_finished_at": YOUNG, "power_state": "power on"}
    seed = Seed(
        {}, *states("enroll", "verifying", "manageable", "inspecting", "inspect wait"), seen,
        *states("available", "deploying", "wait call-back", "active"),
    )  # fmt: skip
    assert go(seed, tmp_path / "journal")["host_keys"]
    assert seed.done == [
        "create m 52:54:00:00:00:01", "create m 52:54:00:00:00:01", "manage", "inspect", "provide", "expect m",
        f"change /extra/{RETRIES} 1", "active",
    ]  # fmt: skip
    lines = Journal(tmp_path / "journal").lines()
    assert list(dict.fromkeys(line["state"] for line in lines)) == [
        "expected", "approved", "inspected", "provisioning", "installed",
    ]  # fmt: skip


def test_a_machine_that_is_not_what_the_plan_says_is_a_card_before_anything_is_written(tmp_path: Path) -> None:
    seed = Seed({"provision_state": "manageable", "inspection_finished_at": YOUNG})
    card = MachineCard(what="it is not what the plan says: no disk", why="", remedy="")
    with pytest.raises(GroundupError, match="no disk"):
        go(seed, tmp_path / "journal", work=replace(wanted(), judge=lambda _told: card))
    assert seed.done == []
    assert Journal(tmp_path / "journal").lines()[-1]["state"] == "failed"


def test_what_ironic_refuses_is_a_card_in_the_journal(tmp_path: Path) -> None:
    class Refuses(Seed):
        def create(self, node: dict[str, Any], *, mac: str) -> None:
            raise GroundupError("another machine has its MAC address", where=mac, why=node["name"], remedy="change it")

    with pytest.raises(GroundupError, match="MAC address"):
        go(Refuses({}), tmp_path / "journal")
    last = Journal(tmp_path / "journal").last
    assert (last["state"], last["card"]["remedy"]) == ("failed", "change it")


def test_a_ramdisk_that_runs_is_used_only_when_it_has_said_where_it_is_reached(tmp_path: Path) -> None:
    on: dict[str, Any] = {
        "provision_state": "available",
        "inspection_finished_at": YOUNG,
        "power_state": "power on",
    }
    reached = {**on, "driver_internal_info": {"agent_url": "https://10.0.0.64:9999"}}
    seed = Seed(on, on, reached, *states("active"))
    go(seed, tmp_path / "journal")
    doing = [line["doing"] for line in Journal(tmp_path / "journal").lines()]
    assert doing[:2] == ["its ramdisk says where it is reached", "installation begins"]


def test_a_run_goes_on_where_a_killed_one_was(tmp_path: Path) -> None:
    seed = Seed(*states("wait call-back", "active"))
    seed.called = {"called": 1.0, "host_keys": ["ssh-ed25519 AAAA"]}
    go(seed, tmp_path / "journal")
    assert seed.done == []


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"provision_state": "enroll"},
        {"provision_state": "available"},
        {"provision_state": "available", "extra": {RETRIES: 1}},
    ],
)
def test_a_machine_that_was_installed_is_not_written_over_when_the_seed_lost_its_database(
    found: dict[str, Any], tmp_path: Path
) -> None:
    Journal(tmp_path / "journal").note(WayStep(state="installed", verb="done", doing="it called home"))
    seed = Seed(found)
    with pytest.raises(GroundupError, match="was installed"):
        go(seed, tmp_path / "journal")
    assert seed.done == []


def test_an_error_of_the_controller_ends_the_run_after_it_was_asked(tmp_path: Path) -> None:
    seed = Seed(*states("enroll", "verifying"), {"provision_state": "enroll", "last_error": UNREACHED})
    with pytest.raises(GroundupError, match="is not reached"):
        go(seed, tmp_path / "journal")
    assert Journal(tmp_path / "journal").lines()[-1]["card"]["remedy"]


def test_a_machine_that_never_calls_is_named(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="did not call home"):
        go(Seed(*states("active")), tmp_path / "journal", timeout=0)


def test_a_line_that_a_killed_run_broke_off_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    step = WayStep(state="expected", verb="manage", doing="x")
    assert journal.note(step)
    path.write_text(path.read_text() + '{"time": 1, "sta')
    assert not Journal(path).note(step)


def test_a_node_that_something_else_holds_is_asked_again(tmp_path: Path) -> None:
    seed = Seed(*states("available", "available", "active"))
    refused = [True]

    def change(_identity: str, fields: dict[str, Any]) -> None:
        del fields
        if refused:
            refused.pop()
            raise BusyError("locked", where="", why="", remedy="")

    seed.change = change  # type: ignore[method-assign]
    go(seed, tmp_path / "journal")
    assert seed.done == ["expect m", "expect m", "active"]


def failed(error: str, *, count: int) -> dict[str, Any]:
    return {"uuid": "u", "provision_state": "deploy failed", "last_error": error, "extra": {RETRIES: count}}


def test_only_what_failed_by_itself_is_an_attempt_and_a_killed_seed_is_none(tmp_path: Path) -> None:
    seed = Seed(failed(CUT, count=1), failed("a cable", count=1), failed(CUT, count=2), *states("active"))
    go(seed, tmp_path / "journal")
    assert [line for line in seed.done if line.startswith("change")] == [
        f"change /extra/{RETRIES} {count}" for count in (1, 2, 2)
    ]


def test_a_machine_that_failed_for_good_begins_again_by_name_alone_and_is_counted_anew(tmp_path: Path) -> None:
    spent = failed("checksum mismatch", count=ATTEMPTS)
    with pytest.raises(GroundupError, match="another digest"):
        go(Seed(spent), tmp_path / "journal")
    seed = Seed({**spent, "maintenance": True}, spent, *states("deploying", "active"))
    go(seed, tmp_path / "journal", again=True)
    assert seed.done == ["hold False", "expect m", f"change /extra/{RETRIES} 1", "active"]


def test_a_seed_that_starts_again_is_waited_for_and_one_that_stays_silent_is_not(tmp_path: Path) -> None:
    def silent(_identity: str) -> None:
        raise BusyError("the seed's Ironic does not answer", where="", why="", remedy="")

    seed = Seed(*states("active"))
    seed.called, answers = {"called": 1.0, "host_keys": ["k"]}, [silent, silent, seed.node]

    def node(identity: str) -> Any:
        return answers.pop(0)(identity)

    seed.node = node  # type: ignore[method-assign,assignment]
    assert go(seed, tmp_path / "journal")["host_keys"]
    seed.node = silent  # type: ignore[method-assign]
    with pytest.raises(GroundupError, match="does not answer"):
        go(seed, tmp_path / "other", timeout=0)
