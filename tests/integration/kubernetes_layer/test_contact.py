"""Which control host the role asks."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import run

ADDRESSES = {f"control-{n}": f"127.90.0.{n}" for n in (1, 2, 3)}


@pytest.fixture
def answering() -> Iterator[Any]:
    """Return a function that has control hosts take connections, and gives their port."""
    with ExitStack() as stack:

        def listen(*names: str) -> int:
            port = 0
            for name in names:
                listener = stack.enter_context(socket.socket())
                listener.bind((ADDRESSES[name], port))
                listener.listen()
                port = listener.getsockname()[1]
            return port

        yield listen


def contact(directory: Path, *, port: int, limit: str, joins: tuple[str, ...] = (), check: bool = False) -> str:
    """Return the control host the role asks, in a run on the hosts of ``limit``."""
    site = {"kubernetes": {"api_port": port, "first_control": "control-1"}}
    hosts: dict[str, Any] = {name: {"groundup_host": {"address": address}} for name, address in ADDRESSES.items()}
    for name in (*joins, "worker-1"):
        hosts.setdefault(name, {})["kubernetes_node"] = {"joins": True}
    inventory = {
        "all": {
            "vars": {
                "ansible_connection": "local",
                "groundup_site": site,
                "ansible_python_interpreter": sys.executable,
            },
            "children": {
                "kubernetes": {"children": {"control": {"hosts": dict.fromkeys(ADDRESSES)}}, "hosts": hosts},
            },
        }
    }
    role: dict[str, Any] = {"name": "groundup.cloud.kubernetes", "tasks_from": "contact", "rolespec_validate": False}
    written = {"content": "{{ kubernetes_contact }}", "dest": str(directory / "contact"), "mode": "0600"}
    play = {
        "hosts": "kubernetes",
        "gather_facts": False,
        "tasks": [
            {"ansible.builtin.import_role": role},
            {"ansible.builtin.copy": written, "run_once": True, "check_mode": False},
        ],
    }
    (directory / "hosts.yml").write_text(json.dumps(inventory))
    (directory / "play.yml").write_text(json.dumps([play]))
    options = ("--limit", limit, *(["--check"] if check else []))
    done = run("ansible-playbook", "-i", "hosts.yml", "play.yml", *options, cwd=directory)
    assert done.returncode == 0, done.stdout + done.stderr
    return (directory / "contact").read_text()


@pytest.mark.parametrize("check", [False, True])
def test_a_site_grows_while_its_first_control_host_is_down(answering: Any, tmp_path: Path, check: bool) -> None:
    port = answering("control-2", "control-3")
    assert contact(tmp_path, port=port, limit="worker-1", check=check) == "control-2"


def test_a_control_host_that_waits_itself_is_not_asked(answering: Any, tmp_path: Path) -> None:
    port = answering("control-2", "control-3")
    assert contact(tmp_path, port=port, limit="control-2,worker-1", joins=("control-2",)) == "control-3"


def test_a_control_host_of_the_run_is_asked_without_looking_for_another(answering: Any, tmp_path: Path) -> None:
    port = answering("control-1")
    assert contact(tmp_path, port=port, limit="control-2,worker-1") == "control-2"


def test_where_nobody_answers_the_first_control_host_is_named(tmp_path: Path) -> None:
    assert contact(tmp_path, port=9, limit="worker-1") == "control-1"
