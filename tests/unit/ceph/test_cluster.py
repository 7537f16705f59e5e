"""Monitors that do not answer, and those that refuse a key, are told apart; what they say no to is named."""

from __future__ import annotations

import errno
import json
import socket
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import cluster

SECRET = "the key itself"


class Rados(ModuleType):
    """Ceph's library, whose connections end with an error."""

    def __init__(self, number: int) -> None:
        super().__init__("rados")
        self.Error = type("Error", (Exception,), {"errno": number})
        self.closed = 0

        def connect(**_: object) -> None:
            raise self.Error("error connecting to the cluster")

        def shutdown() -> None:
            self.closed += 1

        self.Rados = lambda **_: SimpleNamespace(connect=connect, shutdown=shutdown)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One monitor that answers, as a listening socket."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setattr(cluster, "PORT", listening.getsockname()[1])
        yield "127.0.0.1"


def refused(number: int, monitors: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    library = Rados(number)
    monkeypatch.setitem(sys.modules, "rados", library)
    with pytest.raises(GroundupError) as caught, cluster.connected("client.glance", SECRET, monitors):
        pass
    assert library.closed == 1
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_without_a_quorum_each_monitor_is_asked(answers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = refused(errno.ETIMEDOUT, {"one": answers, "two": "127.0.0.2", "three": "127.0.0.3"}, monkeypatch)
    assert "no quorum of monitors for client.glance: 1 of 3 answer, 2 are needed" in said
    assert "one (127.0.0.1) answers, two (127.0.0.2) does not, three (127.0.0.3) does not" in said
    assert "systemctl start ceph-mon@two ceph-mon@three" in said


def test_a_host_that_reaches_its_own_monitor_alone_may_be_the_one_that_is_cut_off(
    answers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitors = {"one": answers, "two": "127.0.0.2", "three": "127.0.0.3"}
    assert "cut" not in refused(errno.ETIMEDOUT, monitors, monkeypatch)
    monkeypatch.setattr(socket, "gethostname", lambda: "one")
    assert "the network `storage` of one cut" in refused(errno.ETIMEDOUT, monitors, monkeypatch)


def test_monitors_that_answer_and_do_not_agree_are_not_to_be_started(
    answers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "do not agree" in refused(errno.ETIMEDOUT, {"one": answers}, monkeypatch)


def test_a_key_that_is_refused_is_no_lost_quorum(answers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without = refused(errno.EACCES, {"one": answers, "two": "127.0.0.2", "three": "127.0.0.3"}, monkeypatch)
    assert "no quorum" in without, "a monitor that is alone refuses every key"
    said = refused(errno.EACCES, {"one": answers}, monkeypatch)
    assert "the monitors refuse the key of client.glance" in said
    assert "clients see:" in said


def test_a_quorum_that_goes_after_the_connection_was_made_has_the_same_card(answers: str) -> None:
    handle = SimpleNamespace(mon_command=lambda *_: (-errno.ETIMEDOUT, b"", ""))
    connection = cluster.CephCluster(handle, "client.admin", {"one": answers, "two": "127.0.0.2", "three": "127.0.0.3"})
    with pytest.raises(
        GroundupError, match=r"no quorum of monitors for client\.admin: 1 of 3 answer.*`osd tree` timed"
    ):
        connection.ask("osd tree")


def test_a_manager_s_no_is_an_error_with_the_command() -> None:
    told: list[Any] = []

    def mgr_command(command: str, _: bytes) -> tuple[int, bytes, str]:
        told.append(json.loads(command))
        return (-16, b"", "busy") if len(told) > 1 else (0, b"", "")

    connection = cluster.CephCluster(SimpleNamespace(mgr_command=mgr_command), "client.admin", {})
    connection.manage("osd destroy", id=7)
    assert told == [{"prefix": "osd destroy", "id": 7}]
    with pytest.raises(GroundupError, match=r"refuse `osd destroy`: busy\n.*osd destroy id=7"):
        connection.manage("osd destroy", id=7)
