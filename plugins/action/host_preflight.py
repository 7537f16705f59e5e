"""Action of module groundup.cloud.host_preflight: find a login that works, and check the host over it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import become_loader

from ..module_utils._base import files
from ..plugin_utils.contact import faults, host_keys
from ..plugin_utils.contact.logins import Login, operator_logins, site_login
from ..plugin_utils.layers import aside
from ..plugin_utils.layers.layers import ABSENT, FIRST_CONTACT
from ..plugin_utils.paths import SECRETS_IDENTITY, state_dir
from ..plugin_utils.run_mode import dry_run

MODULE = "groundup.cloud.host_preflight"
CONSENT = "accept_host_keys"
STARTING, PAUSE = 120.0, 2.0  # seconds: a host that is still starting is waited for
SITE_OPTIONS = ("unused_networks", "control", "hardware_required", "systems", "swap", "cgroup_v1", "eviction", "ranges")


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Reach a host with the site's key, or else with the operator's ssh logins.

    An unreachable host does not fail here, so that the table of all hosts shows it with the others.
    """

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result, and in ``contact`` how the host was reached or why not."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        self._variables = task_vars or {}
        self._site = self._variables["groundup_site"]
        self._address, self._port = self._variables["ansible_host"], self._site["access"]["port"]
        self._name = self._variables["inventory_hostname"]
        self._tried: dict[str, str] = {}  # message of ssh or sudo, by login
        self._entered: set[str] = set()  # logins that sshd accepted
        self._key: host_keys.HostKey | None = None  # host key that is not confirmed
        self._known: dict[str, Any] = {}  # ssh option that makes it known in a dry run
        if self._connection.transport != "ssh":
            return result | self._module() | {"contact": _contact(self._connection.transport, placed=True)}
        password = self._connection.get_option("password") or self._play_context.password
        sudo_password = self._play_context.become_pass
        site = site_login(self._variables)
        found = self._examined(site)  # the site's login needs no passwords
        if found is None and self._said(site) == "host-key-unknown" and self._confirmed():
            found = self._examined(site)
        if found is not None and not self._known:
            return result | found | {"contact": _contact(site.name, placed=True)}
        login = site
        if found is None:
            for login in self._others(site, password, sudo_password):
                found = self._examined(login, password=password, sudo_password=sudo_password)
                if found is not None:
                    break
        if found is None:
            return result | self._unreached()
        login = replace(login, options={**login.options, **self._known})
        return (
            result
            | found
            | {
                "contact": _contact(login.name, placed=login.name == site.name),
                "add_host": {"host_name": self._name, "groups": [FIRST_CONTACT], "host_vars": login.variables()},
            }
        )

    def _module(self) -> dict[str, Any]:
        """Run the module over the current connection."""
        store = (files.read(state_dir(self._site["site"]) / SECRETS_IDENTITY) or "").strip()
        now = {"store": store, "controller_time": time.time()}
        options = planned(self._variables) | self._task.args | now
        found: dict[str, Any] = self._execute_module(MODULE, module_args=options, task_vars=self._variables)
        return found

    def _over_ssh(self) -> dict[str, Any]:
        """Run the module; a refused login raises ssh's own message.

        When ssh closes its input, Ansible waits a millisecond for its end, else drops its message
        (connection plugin ``ssh`` of ansible-core 2.19). A command without input always gets the message.
        """
        try:
            return self._module()
        except AnsibleConnectionFailure as error:
            if not isinstance(error.__cause__, BrokenPipeError):
                raise
        self._low_level_execute_command("true", sudoable=False)
        return self._module()

    def _examined(
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
                self._tried[login.name] = said
                return None
            time.sleep(PAUSE)

    def _answer(self, login: Login) -> tuple[dict[str, Any] | None, str]:
        """Return the module's result, or None and what ssh, sudo or the host's shell says."""
        try:
            found = self._over_ssh()
        except AnsibleError as error:
            said = str(error)
            if not isinstance(error, AnsibleConnectionFailure) and faults.kind_of(said) in ("login-failed", "silent"):
                raise  # not caused by the login
            return None, said
        said = "\n".join(str(found.get(name, "")) for name in ("msg", "module_stderr", "module_stdout"))
        # Neither the module's result nor its traceback: the shell or sudo ended before the module started.
        if "module_stderr" not in found or "Traceback (most recent call last)" in said:
            return found, ""
        self._entered.add(login.name)
        return None, said

    def _log_in_as(self, login: Login, password: str | None, sudo_password: str | None) -> None:
        connection = self._connection
        for option, value in {**login.options, **self._known, "password": password}.items():
            connection.set_option(option, value)
        self._play_context.password = password or ""
        self._play_context.become_pass = sudo_password or ""
        if connection.become is None and login.user != "root":
            become = become_loader.get(self._task.become_method or "sudo")
            become.set_options()
            connection.set_become_plugin(become)
        if connection.become is not None:
            connection.become.set_option("become_pass", sudo_password)
            if connection.become.name == "sudo" and connection.become.get_option("become_exe") in (None, "sudo"):
                connection.become.set_option("become_exe", "env LC_ALL=C sudo")  # words that can be told apart

    def _said(self, login: Login) -> faults.Kind | None:
        return faults.kind_of(self._tried[login.name]) if login.name in self._tried else None

    def _others(self, site: Login, password: str | None, sudo_password: str | None) -> list[Login]:
        """Return the operator's logins, if the site's login was refused and not merely unanswered."""
        said = self._said(site)
        if said not in ("denied", "login-failed", *faults.BEFORE_PYTHON) or said == "python-missing":
            return []
        named = context.CLIARGS.get("remote_user"), context.CLIARGS.get("private_key_file")
        with_sudo = (
            [replace(site, name=f"{site.name} and your password of sudo")] if said != "denied" and sudo_password else []
        )
        return with_sudo + operator_logins(
            address=self._address,
            port=self._port,
            user=self._site["access"]["user"],
            wished=named[0],
            key=named[1],
            password=bool(password),
        )

    def _confirmed(self) -> bool:
        """Record the host's key for ssh if the operator confirmed it; else keep it for the table."""
        predicts, path = self._predicts(), state_dir(self._site["site"]) / "ssh" / "known_hosts"
        if predicts:  # a dry run writes no file of the site, so a key from the site file is not there either
            path = Path(constants.DEFAULT_LOCAL_TMP) / f"known_hosts-{self._name}"
        if predicts and (line := self._variables["groundup_host"]["host_key"]):
            key = host_keys.HostKey.of(self._address, self._port, line)
        else:
            self._key = host_keys.scan(self._address, self._port, timeout=self._connection.get_option("timeout"))
            if self._key is None or self._key.fingerprint not in host_keys.accepted(self._task.args.get(CONSENT)):
                return False
            key = self._key
        host_keys.record(path, key)
        if predicts:
            common = self._connection.get_option("ssh_common_args")
            self._known["ssh_common_args"] = common.replace("UserKnownHostsFile=", f"UserKnownHostsFile={path} ", 1)
        return True

    def _predicts(self) -> bool:
        return dry_run(self._variables) or bool(self._task.check_mode)

    def _unreached(self) -> dict[str, Any]:
        user = self._site["access"]["user"]
        command = f"ssh -p {self._port} {user}@{self._address} {'true' if user == 'root' else 'sudo -n true'}"
        fault = faults.fault_of(self._name, f"{self._address}, port {self._port}", self._tried, command=command)
        key = self._key.plain() if self._key and fault.kind == "host-key-unknown" else None
        site = site_login(self._variables)
        placed = site.name in self._entered or self._said(site) in faults.BEFORE_PYTHON  # it accepted the site's key
        said: dict[str, Any] = {"contact": {"login": None, "placed": placed, "fault": fault.plain(), "host_key": key}}
        if self._predicts():
            said["add_host"] = {"host_name": self._name, "groups": [ABSENT]}
        elif fault.kind == "unreachable":  # it is down: the run may continue without it
            remedy = f"{fault.remedy}; if it is gone for good: {aside.removal(self._name)}"
            away = aside.Aside(host=self._name, layer="contact", reason=f"{fault.what} ({fault.where})", remedy=remedy)
            return aside.result(away, said)
        return said


def planned(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the module's options for the host with these variables.

    Not in the playbook: so many templates would take as long as everything else for this host.
    """
    site, host = variables["groundup_site"], variables["groundup_host"]
    checks = site["preflight"]
    return {
        **checks["by_roles"]["+".join(host["roles"])],
        **{name: checks[name] for name in SITE_OPTIONS},
        "user": site["access"]["user"],
        # If the host layer configures the network, only the interface of the controller's login exists yet.
        "interfaces": [one for one in host["interfaces"] if not host["links"] or one["address"] == host["address"]],
        "neighbours": host["neighbours"],
        "virtual_ip": site["edge"]["address"] if host["name"] in site["edge"]["hosts"] else "",
        "hardware": checks["hardware"][host["hardware"]],
        "releases": site["host"]["debian_releases"],
    }


def _contact(login: str, *, placed: bool) -> dict[str, Any]:
    return {"login": login, "placed": placed, "fault": None, "host_key": None}
