"""Who names the member of Galera that writes, and when it moves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from .conftest import script

controller = script("mariadb/files/mariadb_controller.py")
WRITER = "openstack.groundup.cloud/writer"


def member(ordinal: int, *, ready: bool = True, writer: bool = False, leaving: bool = False) -> dict[str, Any]:
    name = f"mariadb-server-{ordinal}"
    metadata: dict[str, Any] = {
        "name": name, "uid": name, "resourceVersion": str(ordinal), "labels": {WRITER: "true"} if writer else {},
    }  # fmt: skip
    if leaving:
        metadata["deletionTimestamp"] = "now"
    status = {"podIP": f"127.0.0.{ordinal + 1}", "conditions": [{"type": "Ready", "status": str(ready)}]}
    return {"metadata": metadata, "status": status}


def choose(pods: list[dict[str, Any]], *, dead: tuple[int, ...] = ()) -> Any:
    """Return the choice when the members in ``dead`` do not answer, for longer than anybody waits."""

    def serves(pod: dict[str, Any]) -> bool:
        return int(pod["metadata"]["name"].rpartition("-")[2]) not in dead

    return controller.choose(pods, WRITER, may_stay=serves, serves=serves)


def test_the_writer_stays_the_writer_while_it_serves() -> None:
    assert choose([member(0), member(1, writer=True)]) == ("mariadb-server-1", [])


@pytest.mark.parametrize("gone", [{"ready": False}, {"leaving": True}])
def test_another_member_follows_a_writer_that_is_gone_and_there_are_never_two(gone: dict[str, bool]) -> None:
    members = [member(0, writer=True, **gone), member(1), member(2)]
    assert choose(members) == ("mariadb-server-1", ["mariadb-server-0"])


def test_a_writer_that_does_not_answer_is_left_though_kubernetes_calls_it_ready() -> None:
    members = [member(0, writer=True), member(1), member(2)]
    assert choose(members, dead=(0,)) == ("mariadb-server-1", ["mariadb-server-0"])
    assert choose(members, dead=(0, 1)) == ("mariadb-server-2", ["mariadb-server-0"])


def test_when_a_copy_ended_between_two_changes_the_next_look_takes_the_label_from_the_former_writer() -> None:
    assert choose([member(0, writer=True, leaving=True), member(1, writer=True)]) == (
        "mariadb-server-1", ["mariadb-server-0"],
    )  # fmt: skip


def test_with_no_member_to_serve_nothing_moves() -> None:
    assert choose([member(0, ready=False, writer=True), member(1, ready=False)]) == (None, [])
    assert choose([member(0, writer=True), member(1)], dead=(0, 1)) == (None, [])


def test_one_lost_answer_moves_nobody_and_silence_does() -> None:
    now, answering = [100.0], [True]
    may_stay = controller.Patience(lambda _: answering[0], clock=lambda: now[0])
    assert may_stay(member(0))
    answering[0] = False
    now[0] += controller.SILENCE - 1
    assert may_stay(member(0))
    answering[0] = True
    assert may_stay(member(0))
    answering[0] = False
    now[0] += controller.SILENCE
    assert not may_stay(member(0))
    assert may_stay(member(1)), "a writer that was just named has not been silent yet"


def named(monkeypatch: pytest.MonkeyPatch, pods: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Return what the API is asked to change when member 1 becomes the writer."""
    sent: list[tuple[str, Any]] = []

    class Api:
        def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
            if method == "GET":
                return {"items": pods}
            sent.append((path, body))
            return {}

    monkeypatch.setattr(controller, "serves", lambda _: True)
    assert controller.look(Api(), "/pods", "s", WRITER, may_stay=lambda _: False) == "mariadb-server-1"
    return sent


FORMER = ("/pods/mariadb-server-0", {"metadata": {"resourceVersion": "0", "labels": {WRITER: None}}})
NEW = ("/pods/mariadb-server-1", {"metadata": {"resourceVersion": "1", "labels": {WRITER: "true"}}})


def test_a_copy_that_was_held_up_changes_nothing_the_other_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the writer against what it saw, so that there are never two."""
    assert named(monkeypatch, [member(0, writer=True, ready=False), member(1)]) == [FORMER, NEW]


def test_a_writer_on_its_way_out_stays_one_until_proxies_have_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """They lead to it only while nobody else is ready; without any, they would refuse every client for a moment."""
    assert named(monkeypatch, [member(0, writer=True, leaving=True), member(1)]) == [NEW, FORMER]


@pytest.mark.parametrize(("answer", "expected"), [("wsrep_ready\tON", True), ("wsrep_ready\tOFF", False), ("", False)])
def test_a_member_serves_when_it_says_so_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, expected: bool
) -> None:
    client = tmp_path / "mariadb"
    client.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/arguments\nprintf '{answer}\\n'\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("MYSQL_PORT", "3306")
    monkeypatch.setenv("AUDIT_USERNAME", "audit")
    monkeypatch.setenv("MYSQL_PWD", "word")
    assert controller.serves(member(0)) is expected
    arguments = (tmp_path / "arguments").read_text()
    assert "--host=127.0.0.1\n" in arguments
    assert "word" not in arguments
