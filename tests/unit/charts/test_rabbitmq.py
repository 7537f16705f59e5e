"""RabbitMQ's start: accounts, its cookie, and how a member joins and is forgotten."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
from pathlib import Path

import pytest

from .conftest import script

rabbitmq = script("rabbitmq/files/start.py")


def test_rabbitmqs_password_hash_is_salt_and_digest() -> None:
    raw = base64.b64decode(rabbitmq.password_hash("word", b"salt"))
    assert raw == b"salt" + hashlib.sha256(b"saltword").digest()


def test_rabbitmqs_guest_has_no_rights_and_the_administrator_all() -> None:
    made = rabbitmq.definitions("admin", "a", "g")
    assert {user["name"]: user["tags"] for user in made["users"]} == {"admin": ["administrator"], "guest": []}
    assert [right["user"] for right in made["permissions"]] == ["admin"]
    assert '"a"' not in json.dumps([user["password_hash"] for user in made["users"]])


def test_private_files_are_readable_by_their_owner_alone_and_replaced_whole(tmp_path: Path) -> None:
    for text in ("one", "two"):
        rabbitmq.private_file(tmp_path / "cookie", text)
    assert (tmp_path / "cookie").read_text() == "two"
    assert (tmp_path / "cookie").stat().st_mode & 0o777 == 0o400


def test_a_new_rabbitmq_member_waits_until_the_first_one_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    port = server.getsockname()[1]
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        server.listen()

    monkeypatch.setattr(rabbitmq.time, "sleep", nap)
    rabbitmq.wait_for(f"127.0.0.1:{port}")
    server.close()
    assert naps == [3]


@pytest.mark.parametrize("booted", [True, False])
def test_a_rabbitmq_member_without_data_is_forgotten_by_those_that_serve(
    booted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Those of a new cluster do not serve yet: there is nothing to forget."""
    program = tmp_path / "rabbitmqctl"
    program.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        nodes = "cluster_formation.classic_config.nodes"
        configuration = (
            f"listeners.tcp.1 = 0.0.0.0:{port}\n{nodes}.1 = rabbit@localhost\n{nodes}.2 = rabbit@127.0.0.1\n"
        )
        if not booted:
            other.close()
        rabbitmq.be_forgotten("rabbit@localhost", configuration)
    asked = tmp_path / "asked"
    said = "--quiet --longnames --node rabbit@127.0.0.1 forget_cluster_node rabbit@localhost\n"
    assert (asked.read_text() if asked.exists() else None) == (said if booted else None)
    assert ("rabbit@127.0.0.1: forgets that this member was there" in capfd.readouterr().out) is booted
