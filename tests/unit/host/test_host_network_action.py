"""A change of the network is kept over a new connection alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.groundup.cloud.plugins.action import host as action_module
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import NETWORK_IN_TURN

BEGUN = {"changed": True, "pending": True, "changes": ["write a file"], "diff": []}


class Clock:
    """Stands for the time, which passes where it is waited."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Host:
    """Stands for a host: what it answers, in order, and on which connection."""

    def __init__(self, *answers: dict[str, Any] | Exception, hangs: float = 0.0) -> None:
        self.hangs = hangs  # seconds until the first confirmation answers
        self.answers: Iterator[dict[str, Any] | Exception] = iter(answers)
        self.resets = 0
        self.asked: list[tuple[str, int]] = []  # step, connections before it
        self.applied_before: list[bool] = []
        self.clock = Clock()

    def reset(self) -> None:
        self.resets += 1

    def execute(self, *, module_args: dict[str, Any] | None = None, **_: object) -> dict[str, Any]:
        self.asked.append(((module_args or {})["step"], self.resets))
        self.applied_before.append((module_args or {})["given"].get("applied_before", False))
        answer = next(self.answers, AnsibleConnectionFailure("no route to host"))
        if self.resets:
            self.clock.now, self.hangs = self.clock.now + self.hangs, 0.0
        if isinstance(answer, Exception):
            raise answer
        return answer


def converge(
    host: Host, monkeypatch: pytest.MonkeyPatch, *, groups: tuple[str, ...] = (NETWORK_IN_TURN,)
) -> dict[str, Any]:
    monkeypatch.setattr(action_module, "time", host.clock)
    action = object.__new__(action_module.ActionModule)
    action._connection = host
    action._execute_module = host.execute
    action.changes, action.variables = Changes(check=False), {"group_names": groups, "inventory_hostname": "h"}
    return action.work({"step": "network", "seconds": 5})


def test_what_is_in_place_needs_no_second_word(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host({"changed": False, "pending": False})
    assert converge(host, monkeypatch) == {"changed": False, "pending": False}
    assert host.asked == [("network", 0)]


def test_each_confirmation_has_a_connection_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = AnsibleConnectionFailure("timed out")
    host = Host(BEGUN, {"pending": True}, lost, {"pending": False, "changed": False})
    found = converge(host, monkeypatch)
    assert (found["changed"], found["changes"]) == (True, ["write a file"])
    assert host.asked == [("network", 0), ("confirm", 1), ("confirm", 2), ("confirm", 3)]


def test_a_change_is_kept_by_the_connection_after_one_that_saw_it_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"pending": True, "applied": True}
    host = Host(BEGUN, {"pending": True, "applied": False}, seen, {"pending": False, "changed": False})
    assert "failed" not in converge(host, monkeypatch)
    assert host.applied_before == [False, False, False, True]


def test_an_attempt_that_hung_beyond_the_deadline_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    back = {"failed": True, "msg": "was taken back"}
    host = Host(BEGUN, AnsibleConnectionFailure("timed out"), back, hangs=1000.0)
    assert converge(host, monkeypatch)["msg"] == "was taken back"


def test_a_change_that_was_taken_back_is_no_change_and_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    found = converge(Host(BEGUN, {"failed": True, "msg": "was taken back"}), monkeypatch)
    assert (found["failed"], found["changed"], found["msg"]) == (True, False, "was taken back")


def test_a_host_that_a_quorum_is_made_of_is_not_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    for group, failed in (("control", False), (NETWORK_IN_TURN, True)):
        found = converge(Host({"failed": True, "msg": "was taken back"}), monkeypatch, groups=(group,))
        assert bool(found.get("failed")) is failed
        assert bool(found.get("aside")) is not failed


def test_a_host_that_does_not_come_back_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    found = converge(Host(BEGUN), monkeypatch)
    assert found["failed"]
    assert found["msg"].startswith("h is unreachable")
