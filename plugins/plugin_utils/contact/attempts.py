"""Try logins to a host, and record why each fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.loader import become_loader

from . import faults
from .logins import Login

STARTING, PAUSE = 120.0, 2.0  # seconds: a host that is still starting is waited for


class LoginAttempts:
    """Logins tried over one connection, each by running a module."""

    def __init__(self, connection: Any, play_context: Any, run: Callable[[], dict[str, Any]], *, become: str) -> None:
        """Set how to ``run`` the module over ``connection``; ``become``: the task's method."""
        self._connection, self._play_context, self._run, self._become = connection, play_context, run, become
        self.tried: dict[str, str] = {}  # message of ssh or sudo, by login
        self.entered: set[str] = set()  # logins that sshd accepted
        self.known: dict[str, Any] = {}  # ssh option that makes the host's key known in a dry run

    def result(
        self, login: Login, *, password: str | None = None, sudo_password: str | None = None
    ) -> dict[str, Any] | None:
        """Return the module's result if ``login`` works; else record why it does not."""
        self._log_in_as(login, password, sudo_password)
        deadline = time.monotonic() + STARTING
        while True:
            found, said = self._answer(login)
            if found is not None:
                return found
            if faults.kind_of(said) != "starting" or time.monotonic() > deadline:
                self.tried[login.name] = said
                return None
            time.sleep(PAUSE)

    def kind(self, login: Login) -> faults.Kind | None:
        """Return why ``login`` failed; None if it was not tried."""
        return faults.kind_of(self.tried[login.name]) if login.name in self.tried else None

    def _answer(self, login: Login) -> tuple[dict[str, Any] | None, str]:
        """Return the module's result, or None and what ssh, sudo or the host's shell says."""
        try:
            found = self._run()
        except AnsibleError as error:
            said = str(error)
            if not isinstance(error, AnsibleConnectionFailure) and faults.kind_of(said) in ("login-failed", "silent"):
                raise  # not caused by the login
            return None, said
        said = "\n".join(str(found.get(name, "")) for name in ("msg", "module_stderr", "module_stdout"))
        # Neither the module's result nor its traceback: the shell or sudo ended before the module started.
        if "module_stderr" not in found or "Traceback (most recent call last)" in said:
            return found, ""
        self.entered.add(login.name)
        return None, said

    def _log_in_as(self, login: Login, password: str | None, sudo_password: str | None) -> None:
        connection = self._connection
        for option, value in {**login.options, **self.known, "password": password}.items():
            connection.set_option(option, value)
        self._play_context.password = password or ""
        self._play_context.become_pass = sudo_password or ""
        if connection.become is None and login.user != "root":
            become = become_loader.get(self._become)
            become.set_options()
            connection.set_become_plugin(become)
        if connection.become is not None:
            connection.become.set_option("become_pass", sudo_password)
            if connection.become.name == "sudo" and connection.become.get_option("become_exe") in (None, "sudo"):
                connection.become.set_option("become_exe", "env LC_ALL=C sudo")  # words that can be told apart
