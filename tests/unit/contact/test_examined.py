"""What the action makes of a host's answer to one login."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.loader import become_loader
from ansible_collections.groundup.cloud.plugins.action import host_preflight
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact.logins import Login

OPS = Login(name="ops with the site's key", options={"remote_user": "ops"})
TTY = "sudo: sorry, you must have a tty to run sudo"
BOOTING = "System is booting up. Unprivileged users are not permitted to log in yet.\nConnection closed by 10.0.0.1"


class _Connection:
    def __init__(self) -> None:
        self.become = become_loader.get("sudo")
        self.become.set_options()
        self.options: dict[str, Any] = {}

    def set_option(self, name: str, value: Any) -> None:
        self.options[name] = value


class _Play:
    password = become_pass = ""


def action(monkeypatch: pytest.MonkeyPatch, answers: Iterator[Any]) -> host_preflight.ActionModule:
    made = object.__new__(host_preflight.ActionModule)
    made._connection, made._play_context, made._known, made._tried, made._entered = (
        _Connection(),
        _Play(),
        {},
        {},
        set(),
    )

    def over_ssh(_: host_preflight.ActionModule) -> dict[str, Any]:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    monkeypatch.setattr(host_preflight.ActionModule, "_over_ssh", over_ssh)
    monkeypatch.setattr(host_preflight, "PAUSE", 0.0)
    return made


def test_a_host_that_is_starting_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    starting = AnsibleConnectionFailure(f"Failed to connect to the host via ssh: {BOOTING}")
    one = action(monkeypatch, iter([starting, starting, {"faults": []}]))
    assert one._examined(OPS) == {"faults": []}
    assert not one._tried


def test_a_host_that_never_ends_its_start_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_preflight, "STARTING", -1.0)
    one = action(monkeypatch, iter([AnsibleConnectionFailure(BOOTING)]))
    assert one._examined(OPS) is None
    assert one._said(OPS) == "starting"


def test_a_sudo_that_ends_before_the_module_is_a_fault_of_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    one = action(
        monkeypatch, iter([{"failed": True, "msg": "Module result deserialization failed.", "module_stderr": TTY}])
    )
    assert one._examined(OPS) is None
    assert one._said(OPS) == "login-failed"
    assert OPS.name in one._entered, "its key is there: a host that serves may be set aside"


def test_a_module_that_broke_is_no_fault_of_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"failed": True, "msg": "", "module_stderr": "Traceback (most recent call last):\n  KeyError"}
    assert action(monkeypatch, iter([found]))._examined(OPS) == found


def test_a_fault_of_this_program_is_none_of_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AnsibleError, match="no such module"):
        action(monkeypatch, iter([AnsibleError("no such module")]))._examined(OPS)


def test_sudo_speaks_the_language_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    one = action(monkeypatch, iter([{"faults": []}]))
    one._examined(OPS)
    assert one._connection.become.get_option("become_exe") == "env LC_ALL=C sudo"
