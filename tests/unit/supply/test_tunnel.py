"""The way into a seed's registry, with a program that forwards as ssh does."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.tunnel import ssh_command, tunnel

from .registry import Registry, running

# Forwards what each -L says, and writes down its process.
FORWARDS = f"""#!{sys.executable}
import os, socket, sys, threading
open(os.path.join(os.path.dirname(sys.argv[0]), "pid"), "w").write(str(os.getpid()))
def copy(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)
def forward(here, port, there, target):
    with socket.socket() as other:
        try:
            other.bind((here, int(port)))
            sys.exit("another program could have had this port")
        except OSError:
            pass
    listener = socket.create_server((here, int(port)))
    while True:
        near, _ = listener.accept()
        try:
            far = socket.create_connection((there, int(target)))
        except OSError:
            near.close()
            continue
        for pair in ((near, far), (far, near)):
            threading.Thread(target=copy, args=pair, daemon=True).start()
for flag, words in zip(sys.argv, sys.argv[1:]):
    if flag == "-L":
        threading.Thread(target=forward, args=words.split(":")).start()
"""
REFUSES = "#!/bin/sh\necho 'seed-1: Permission denied (publickey).' >&2\nexit 255\n"


def program(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_the_ways_are_open_inside_the_block_only(tmp_path: Path, registry: Registry) -> None:
    ssh = program(tmp_path / "ssh", FORWARDS)
    with running() as other, tunnel([ssh, "seed-1"], registry.address, other.address) as addresses:
        assert not {*addresses} & {registry.address, other.address}
        for address in addresses:
            with urllib.request.urlopen(f"http://{address}/v2/") as answer:
                assert answer.status == 200
        assert [server.requests for server in (registry, other)] == [[("GET", "/v2/")]] * 2
        process = Path("/proc") / (tmp_path / "pid").read_text()
        assert process.exists()
    assert not process.exists()


def test_what_ssh_says_is_told(tmp_path: Path) -> None:
    ssh = program(tmp_path / "ssh", REFUSES)
    with (
        pytest.raises(GroundupError, match=r"no tunnel to seed-1: seed-1: Permission denied") as caught,
        tunnel([ssh, "seed-1"], "127.0.0.1:5001"),
    ):
        raise AssertionError("there is no way")
    assert "TCP forwarding" in caught.value.remedy


def test_an_ssh_that_forwards_nothing_is_named_and_no_process_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = program(tmp_path / "ssh", "#!/bin/sh\nexec sleep 60\n")
    started: list[subprocess.Popen[bytes]] = []
    begin = subprocess.Popen

    def remembered(*given: Any, **named: Any) -> subprocess.Popen[bytes]:
        started.append(begin(*given, **named))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", remembered)
    with pytest.raises(GroundupError, match="ssh forwards nothing"), tunnel([ssh, "s"], "127.0.0.1:1", seconds=0.3):
        raise AssertionError("there is no way")
    assert [process.returncode is not None for process in started] == [True]


def options(**changed: Any) -> Any:
    values = {
        "ssh_executable": "ssh", "host_key_checking": True, "port": 2222, "remote_user": "ops", "host": "10.0.0.2",
        "private_key_file": "/state/key", "timeout": 10, "ssh_args": "-C -o ControlMaster=auto",
        "ssh_common_args": '-o "UserKnownHostsFile=/a /b"', "ssh_extra_args": "", **changed,
    }  # fmt: skip
    return values.__getitem__


def test_ssh_has_the_options_of_ansibles_connection() -> None:
    assert ssh_command(options(), transport="ssh") == [
        *("ssh", "-p", "2222", "-l", "ops", "-i", "/state/key", "-o", "ConnectTimeout=10"),
        *("-C", "-o", "ControlMaster=auto", "-o", "UserKnownHostsFile=/a /b", "10.0.0.2"),
    ]
    assert "StrictHostKeyChecking=no" in ssh_command(options(host_key_checking=False), transport="ssh")


def test_another_connection_is_refused_by_name() -> None:
    with pytest.raises(GroundupError, match="connection local"):
        ssh_command(options(), transport="local")
