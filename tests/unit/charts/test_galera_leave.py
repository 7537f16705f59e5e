"""How long a Galera member that is told to end goes on serving, and whom it lets go."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .conftest import script
from .galera import pod

leave = script("mariadb/files/leave.py")
WRITER = "openstack.groundup.cloud/writer"
LEAVING: dict[str, Any] = {"deletionTimestamp": "now", "labels": {WRITER: "true"}}
STAYING: dict[str, Any] = {"labels": {}}
PODS = {pod(0): LEAVING, pod(1): STAYING, pod(2): STAYING}


class Time:
    """A clock that only pauses move. ``at``: what happens at which second."""

    def __init__(self) -> None:
        self.now = 0.0
        self.at: dict[float, Callable[[], None]] = {}

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for due in [due for due in self.at if due <= self.now]:
            self.at.pop(due)()


class Pods:
    """As much of the API as has the members' pods. ``fault``: what it says instead."""

    def __init__(self, pods: dict[str, dict[str, Any]]) -> None:
        self.pods = dict(pods)
        self.fault: OSError | None = None

    def call(self, method: str, path: str) -> dict[str, Any]:
        collection, _, name = path.rpartition("/")
        assert (method, collection) == ("GET", "/pods")
        if self.fault:
            raise self.fault
        if name not in self.pods:
            raise refused(leave.NOT_FOUND)
        return {"metadata": self.pods[name]}


def refused(code: int) -> OSError:
    error: OSError = leave.urllib.error.HTTPError("/pods", code, "no", None, None)
    return error


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(leave, "time", SimpleNamespace(monotonic=made.monotonic, sleep=made.sleep))
    return made


def awaited(api: Pods) -> Any:
    return leave.Members(api, "/pods", pod(0), (pod(1), pod(2))).another_writes(WRITER)


def test_the_writer_serves_until_another_member_is_named(clock: Time) -> None:
    api = Pods(PODS)
    clock.at[2.0] = lambda: api.pods.update({pod(0): {"deletionTimestamp": "now", "labels": {}}})
    assert awaited(api) == (True, "this member does not write")
    assert clock.now == 2.0


def test_a_member_that_does_not_write_waits_for_nobody(clock: Time) -> None:
    for own in ({"deletionTimestamp": "now"}, {"labels": {WRITER: ""}}, {"labels": None}):
        assert awaited(Pods(PODS | {pod(0): own}))[0]
    assert clock.now == 0.0


@pytest.mark.parametrize(
    "others", [{}, {pod(1): {"deletionTimestamp": "now"}}, {pod(1): LEAVING, pod(2): LEAVING}], ids=len
)
def test_when_all_members_leave_none_waits(clock: Time, others: dict[str, Any]) -> None:
    assert awaited(Pods({pod(0): LEAVING, **others})) == (False, "no other member stays")
    assert clock.now == 0.0


def test_without_a_controller_the_pod_ends_all_the_same(clock: Time) -> None:
    assert awaited(Pods(PODS)) == (False, "no other member was named the writer")
    assert clock.now == leave.NAMING


@pytest.mark.parametrize("fault", [OSError("no route to host"), refused(403), refused(404), refused(500)], ids=str)
def test_a_kubernetes_api_that_fails_keeps_no_pod(clock: Time, fault: OSError) -> None:
    api = Pods(PODS)
    api.fault = fault
    assert awaited(api) == (False, f"the Kubernetes API says {fault}")
    assert clock.now == leave.NAMING


def test_one_lost_answer_of_the_kubernetes_api_cuts_nobody_off(clock: Time) -> None:
    api = Pods(PODS)
    api.fault = OSError("timed out")
    clock.at = {1.0: lambda: setattr(api, "fault", None), 3.0: lambda: api.pods.update({pod(0): STAYING})}
    assert awaited(api)[0]
    assert clock.now == 3.0


def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """Put a program with ``body`` in place of the one that speaks with the server; return the file of its calls."""
    program, calls = tmp_path / "health.sh", tmp_path / "calls"
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n{body}\n')
    program.chmod(0o755)
    monkeypatch.setattr(leave, "RELEASE", program)
    return calls


def test_clients_are_let_go_until_proxies_follow_and_none_is_left(
    clock: Time, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxies need a moment: who comes until then is let go, too."""
    calls = server(tmp_path, monkeypatch, "echo 0")
    assert leave.let_go() == "0 of its clients are left"
    assert clock.now == leave.SETTLING
    assert set(calls.read_text().splitlines()) == {"release 2000 1"}
    assert len(calls.read_text().splitlines()) == leave.SETTLING / leave.PAUSE + 1


def test_a_transaction_is_waited_for_and_not_for_ever(
    clock: Time, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "left"
    left.write_text("2")

    def ends() -> None:
        left.write_text("0")

    server(tmp_path, monkeypatch, f"cat {left}")
    assert leave.let_go() == "2 of its clients are left"
    assert clock.now == leave.LETTING_GO
    clock.now, clock.at = 0.0, {5.0: ends}
    assert leave.let_go() == "0 of its clients are left"
    assert clock.now == 5.0


def test_a_client_that_was_used_just_now_is_spared_at_first_and_not_to_the_end(
    clock: Time, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request may be between its first word and its query for longer than half a second; at last the server ends."""
    calls = server(tmp_path, monkeypatch, "echo 1")
    assert leave.let_go() == "1 of its clients are left"
    assert clock.now == leave.LETTING_GO
    assert calls.read_text().splitlines() == [
        *["release 2000 1"] * 12, *["release 500 1"] * 12, *["release 200 1"] * 27
    ]  # fmt: skip


def test_the_server_is_asked_for_clients_that_are_idle_for_as_long_as_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "mariadb"
    program.write_text(
        f'#!/bin/sh\nfor last; do :; done\necho "$last" >> {asked}\ncase "$last" in *COUNT*) echo 3;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = subprocess.run([leave.RELEASE, "release", "2000", "1"], capture_output=True, text=True, check=True)
    assert done.stdout == "3\n"
    assert "time_ms >= 2000\n" in asked.read_text()
    assert "INTERVAL 1 SECOND" in asked.read_text()
    asked.unlink()
    done = subprocess.run([leave.RELEASE, "release"], capture_output=True, text=True, check=False)
    assert (done.returncode, "milliseconds that a client is idle" in done.stderr) == (1, True)
    assert not asked.exists()


@pytest.mark.parametrize("body", ["exit 1", "echo no number", "exec sleep 60"])
def test_a_server_that_does_not_answer_is_ended_at_once(
    clock: Time, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    server(tmp_path, monkeypatch, body)
    monkeypatch.setattr(leave, "RELEASING", 0.5)
    assert leave.let_go().startswith("its server lets no client go: ")
    assert clock.now == 0.0


@pytest.mark.parametrize(
    ("pods", "calls", "said"),
    [
        (PODS | {pod(0): STAYING}, True, "leaving after 3.0 s: this member does not write; 0 of its clients are left"),
        (PODS, False, "leaving after 20.0 s: no other member was named the writer"),
        ({pod(0): LEAVING}, False, "leaving after 0.0 s: no other member stays"),
    ],
)
@pytest.mark.usefixtures("clock")
def test_clients_go_only_where_another_member_serves_them_and_the_log_says_how_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pods: dict[str, Any], calls: bool, said: str
) -> None:
    log, called = tmp_path / "log", server(tmp_path, monkeypatch, "echo 0")
    log.write_text("the server's\n")
    monkeypatch.setattr(leave, "LOG", log)
    monkeypatch.setattr(leave, "Api", lambda **_: SimpleNamespace(call=lambda m, p: Pods(pods).call(m, p[-22:])))
    monkeypatch.setattr(leave.sys, "argv", ["leave.py", WRITER])
    for name, value in {"POD_NAME": pod(0), "MEMBERS": "3", "NAMESPACE": "openstack"}.items():
        monkeypatch.setenv(name, value)
    leave.main()
    assert called.exists() == calls
    assert log.read_text() == f"the server's\n{said}\n"
