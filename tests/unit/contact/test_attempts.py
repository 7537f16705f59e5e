"""What is made of a host's answer to one login."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.loader import become_loader
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact import attempts
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact.attempts import LoginAttempts
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


def trying(monkeypatch: pytest.MonkeyPatch, answers: Iterator[Any]) -> LoginAttempts:
    """Return attempts at a host with these answers."""

    def run() -> dict[str, Any]:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    monkeypatch.setattr(attempts, "PAUSE", 0.0)
    return LoginAttempts(_Connection(), _Play(), run, become="sudo")


def test_a_host_that_is_starting_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    starting = AnsibleConnectionFailure(f"Failed to connect to the host via ssh: {BOOTING}")
    one = trying(monkeypatch, iter([starting, starting, {"faults": []}]))
    assert one.result(OPS) == {"faults": []}
    assert not one.tried


def test_a_host_that_never_ends_its_start_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "STARTING", -1.0)
    one = trying(monkeypatch, iter([AnsibleConnectionFailure(BOOTING)]))
    assert one.result(OPS) is None
    assert one.kind(OPS) == "starting"


def test_a_sudo_that_ends_before_the_module_is_a_fault_of_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    one = trying(
        monkeypatch, iter([{"failed": True, "msg": "Module result deserialization failed.", "module_stderr": TTY}])
    )
    assert one.result(OPS) is None
    assert one.kind(OPS) == "login-failed"
    assert OPS.name in one.entered, "its key is there: a host that serves may be set aside"


def test_a_module_that_broke_is_no_fault_of_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"failed": True, "msg": "", "module_stderr": "Traceback (most recent call last):\n  KeyError"}
    assert trying(monkeypatch, iter([found])).result(OPS) == found


def test_a_fault_of_this_program_is_none_of_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AnsibleError, match="no such module"):
        trying(monkeypatch, iter([AnsibleError("no such module")])).result(OPS)


def test_sudo_speaks_the_language_that_is_read() -> None:
    connection = _Connection()
    LoginAttempts(connection, _Play(), lambda: {"faults": []}, become="sudo").result(OPS)
    assert connection.become.get_option("become_exe") == "env LC_ALL=C sudo"
