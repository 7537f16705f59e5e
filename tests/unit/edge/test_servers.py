"""An API server is taken out of HAProxy for its restart, and never left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.filter.edge_faults import edge_faults
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._edge import admin, servers

HAProxy = dict[str, str]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What HAProxy was told; its socket is there."""
    commands: list[str] = []
    monkeypatch.setattr(servers, "told", commands.append)
    (tmp_path / "admin.sock").touch()
    monkeypatch.setattr(admin, "ADMIN_SOCKET", str(tmp_path / "admin.sock"))
    return commands


def states(monkeypatch: pytest.MonkeyPatch, **found: str) -> None:
    named = {name.replace("_", "-"): state for name, state in found.items()}
    monkeypatch.setattr(servers, "statistics", lambda: ({}, {"kubernetes": named}))


@pytest.mark.usefixtures("said")
def test_a_server_goes_out_before_its_checks_can_cut_anybody(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    states(monkeypatch, control_1="UP", control_2="UP")
    assert servers.take_out(Changes(check=True), {"server": "control-1"})["out"]
    assert said == [], "in check mode"
    assert servers.take_out(Changes(check=False), {"server": "control-1"}) == {"changed": False, "out": True}
    assert said == ["disable health kubernetes/control-1", "set server kubernetes/control-1 state drain"]


@pytest.mark.parametrize("other", ["DOWN", "DRAIN", "MAINT", "no check"])
def test_the_last_server_stays_in(monkeypatch: pytest.MonkeyPatch, said: list[str], other: str) -> None:
    states(monkeypatch, control_1="UP", control_2=other)
    assert not servers.take_out(Changes(check=False), {"server": "control-1"})["out"]
    assert said == []


def test_a_server_that_haproxy_does_not_know_yet_is_nowhere_out(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    states(monkeypatch, control_1="UP", control_2="UP")
    assert not servers.take_out(Changes(check=False), {"server": "control-3"})["out"]
    monkeypatch.setattr(admin, "ADMIN_SOCKET", "/nonexistent")
    assert not servers.take_out(Changes(check=False), {"server": "control-1"})["out"], "HAProxy was never started"
    servers.mend(changes := Changes(check=False))
    assert (said, changes.done) == ([], [])


def test_a_server_comes_back_and_checks_decide(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    states(monkeypatch, control_1="DRAIN", control_2="UP")
    servers.put_back(Changes(check=False), {"server": "control-2"})
    servers.put_back(Changes(check=True), {"server": "control-1"})
    assert said == []
    servers.put_back(Changes(check=False), {"server": "control-1"})
    assert said == ["set server kubernetes/control-1 state ready", "enable health kubernetes/control-1"]


@pytest.mark.usefixtures("said")
def test_a_server_is_back_when_checks_find_it_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter(["DOWN", "DOWN 1/2", "UP 1/3"])
    monkeypatch.setattr(servers, "statistics", lambda: ({}, {"kubernetes": {"control-1": next(found)}}))
    assert servers.serve(Changes(check=False), {"server": "control-1", "timeout": 20}) == {"changed": False}
    states(monkeypatch, control_1="DRAIN")
    with pytest.raises(GroundupError, match="HAProxy sends nothing to the API server of control-1: DRAIN"):
        servers.serve(Changes(check=False), {"server": "control-1", "timeout": 0})
    assert servers.serve(Changes(check=False), {"server": "control-3", "timeout": 0}), "HAProxy does not know it yet"


@pytest.mark.parametrize("state", ["DRAIN", "MAINT", "no check"])
def test_what_a_killed_run_left_out_is_put_back_by_the_next(
    monkeypatch: pytest.MonkeyPatch, said: list[str], state: str
) -> None:
    states(monkeypatch, control_1="UP", control_2=state, control_3="DOWN")
    servers.mend(predicted := Changes(check=True))
    assert (predicted.done, said) == (["put control-2 back in HAProxy, where it was left out"], [])
    servers.mend(Changes(check=False))
    assert said == ["set server kubernetes/control-2 state ready", "enable health kubernetes/control-2"]


def test_verify_names_who_is_left_out_and_by_which_haproxy_and_not_who_is_down() -> None:
    def seen(**found: str) -> dict[str, object]:
        named = {name.replace("_", "-"): state for name, state in found.items()}
        return {"edge_state": {"holds_address": False, "listeners": {}, "servers": {"kubernetes": named}}}

    asked = {"control-1": seen(control_1="UP", control_2="DRAIN"), "control-2": seen(control_1="DOWN", control_2="UP")}
    asked["control-1"]["edge_state"]["holds_address"] = True  # type: ignore[index]
    assert edge_faults(asked, [*asked], control=[*asked], address="10.0.0.2") == [
        "edge-server-out: HAProxy of control-1 sends nothing to the API server of control-2"
    ]
