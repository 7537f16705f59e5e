"""Action of module groundup.cloud.preflight: find a login to each host, judge all hosts, place the site's key."""

from __future__ import annotations

import time
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ..module_utils._base import files
from ..module_utils._base.errors import GroundupError
from ..module_utils._plan.preflight import Expected
from ..plugin_utils.actions import StepAction
from ..plugin_utils.contact import faults, host_keys
from ..plugin_utils.contact.attempts import LoginAttempts
from ..plugin_utils.contact.logins import Login, operator_logins, site_login
from ..plugin_utils.kube.access import known_nodes
from ..plugin_utils.layers import aside
from ..plugin_utils.layers.layers import FIRST_CONTACT
from ..plugin_utils.paths import SECRETS_IDENTITY, state_dir
from ..plugin_utils.preflight_report import lines, spared, summary, table
from ..plugin_utils.run_mode import dry_run


class ActionModule(StepAction):
    """Reach a host with the site's key, or else with the operator's ssh logins."""

    _key: host_keys.HostKey | None = None  # host key that is not confirmed

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        steps = {"examine": self._examine, "report": self._report, "access": self._access}
        return steps[given["step"]](given)

    def _examine(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the module's result, and in ``contact`` how the host was reached or why not.

        An unreachable host does not fail here, so that the table of all hosts shows it with the others.
        """
        if self._connection.transport != "ssh":
            return self._module(given) | {"contact": _contact(self._connection.transport, placed=True)}
        password = self._connection.get_option("password") or self._play_context.password
        sudo_password = self._play_context.become_pass
        attempts = LoginAttempts(
            self._connection,
            self._play_context,
            partial(self._over_ssh, given),
            become=self._task.become_method or "sudo",
        )
        site = site_login(self.variables)
        found = attempts.result(site)  # the site's login needs no passwords
        if found is None and attempts.kind(site) == "host-key-unknown" and self._confirmed(given, attempts):
            found = attempts.result(site)
        if found is not None and not attempts.known:
            return found | {"contact": _contact(site.name, placed=True)}
        login = site
        if found is None:
            for login in self._others(site, attempts, password, sudo_password):
                found = attempts.result(login, password=password, sudo_password=sudo_password)
                if found is not None:
                    break
        if found is None:
            return self._unreached(attempts)
        login = replace(login, options={**login.options, **attempts.known})
        return found | {
            "contact": _contact(login.name, placed=login.name == site.name),
            "add_host": {"host_name": self._host, "groups": [FIRST_CONTACT], "host_vars": login.variables()},
        }

    def _module(self, given: dict[str, Any]) -> dict[str, Any]:
        """Run the module over the current connection."""
        store = (files.read(state_dir(self._site["site"]) / SECRETS_IDENTITY) or "").strip()
        wanted = planned(self.variables, store=store, controller_time=time.time()) | given["wanted"]
        return self.on_host(step="examine", given={"name": self._host, "wanted": wanted})

    def _over_ssh(self, given: dict[str, Any]) -> dict[str, Any]:
        """Run the module; a refused login raises ssh's own message.

        When ssh closes its input, Ansible waits a millisecond for its end, else drops its message
        (connection plugin ``ssh`` of ansible-core 2.19). A command without input always gets the message.
        """
        try:
            return self._module(given)
        except AnsibleConnectionFailure as error:
            if not isinstance(error.__cause__, BrokenPipeError):
                raise
        self._low_level_execute_command("true", sudoable=False)
        return self._module(given)

    def _others(
        self, site: Login, attempts: LoginAttempts, password: str | None, sudo_password: str | None
    ) -> list[Login]:
        """Return the operator's logins, if the site's login was refused and not merely unanswered."""
        kind = attempts.kind(site)
        if kind not in ("denied", "login-failed", *faults.BEFORE_PYTHON) or kind == "python-missing":
            return []
        named = context.CLIARGS.get("remote_user"), context.CLIARGS.get("private_key_file")
        with_sudo = (
            [replace(site, name=f"{site.name} and your password of sudo")] if kind != "denied" and sudo_password else []
        )
        address, port = self._address
        return with_sudo + operator_logins(
            address=address,
            port=port,
            user=self._site["access"]["user"],
            wished=named[0],
            key=named[1],
            password=bool(password),
        )

    def _confirmed(self, given: dict[str, Any], attempts: LoginAttempts) -> bool:
        """Record the host's key for ssh if the operator confirmed it; else keep it for the table."""
        predicts, path = self._predicts, state_dir(self._site["site"]) / "ssh" / "known_hosts"
        if predicts:  # a dry run writes no file of the site, so a key from the site file is not there either
            path = Path(constants.DEFAULT_LOCAL_TMP) / f"known_hosts-{self._host}"
        if predicts and (line := self.variables["groundup_host"]["host_key"]):
            key = host_keys.HostKey.of(*self._address, line)
        else:
            self._key = host_keys.scan(*self._address, timeout=self._connection.get_option("timeout"))
            if self._key is None or self._key.fingerprint not in host_keys.accepted(given["accept_host_keys"]):
                return False
            key = self._key
        host_keys.record(path, key)
        if predicts:
            common = self._connection.get_option("ssh_common_args")
            attempts.known["ssh_common_args"] = common.replace("UserKnownHostsFile=", f"UserKnownHostsFile={path} ", 1)
        return True

    def _unreached(self, attempts: LoginAttempts) -> dict[str, Any]:
        user, (address, port) = self._site["access"]["user"], self._address
        command = f"ssh -p {port} {user}@{address} {'true' if user == 'root' else 'sudo -n true'}"
        fault = faults.fault_of(self._host, f"{address}, port {port}", attempts.tried, command=command)
        key = self._key.plain() if self._key and fault.kind == "host-key-unknown" else None
        site = site_login(self.variables)
        # Whether it accepted the site's key.
        placed = site.name in attempts.entered or attempts.kind(site) in faults.BEFORE_PYTHON
        said: dict[str, Any] = {"contact": {"login": None, "placed": placed, "fault": fault.plain(), "host_key": key}}
        if not self._predicts and fault.kind != "unreachable":
            return said
        # It is down: the run may continue without it. A dry run always does, and its exit code says so.
        member = self._host in known_nodes(self._site["site"])
        remedy = f"{fault.remedy}; if it is gone for good: {aside.removal(self._host)}" if member else fault.remedy
        away = aside.Aside(host=self._host, layer="contact", reason=f"{fault.what} ({fault.where})", remedy=remedy)
        return aside.result(away, said) | ({"warnings": []} if self._predicts else {})  # its table says it all

    def _report(self, given: dict[str, Any]) -> dict[str, Any]:
        """Print the table and return its lines; fail on an error, unless the run may continue without such hosts."""
        hostvars = self.variables["hostvars"]
        found = {host: hostvars[host].get(given["result"], {}) for host in given["hosts"]}
        if not self._predicts:
            found = {host: one for host, one in found.items() if "aside" not in one}  # it is down: its state is unknown
        seen = lines(found, predicts=self._predicts)
        limits = self._site["max_unavailable"]
        able = (host for host in found if int(limits[hostvars[host]["groundup_host"]["group"]]))
        away = spared(seen, found, able, nodes=known_nodes(self._site["site"]))
        if away:
            seen = [replace(one, severity="warning") for one in seen]
        said = summary(seen, hosts=len(found))
        if seen:
            self._display.display(table(seen, hosts=len(found)))
        unknown = {
            host: one["contact"]["host_key"]
            for host, one in found.items()
            if (one.get("contact") or {}).get("host_key")
        }
        if unknown:
            self._display.display(f"\n{host_keys.shown(unknown)}")
        result: dict[str, Any] = {
            "changed": False,
            "lines": [asdict(one) for one in seen],
            "aside": [asdict(one) for one in away],
            "msg": said,
        }
        if away:
            result["warnings"] = [one.said for one in away]
        elif any(one.severity == "error" for one in seen):
            result |= {"failed": True, "msg": f"{said}. Nothing was changed on any host: correct this, then run again"}
        return result

    def _access(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the module's result over the operator's login; later tasks log in with the site's key."""
        user = self._site["access"]["user"]
        result = self.on_host(step="access", given={"user": user, "authorized_keys": given["authorized_keys"]})
        if result.get("failed") or self._predicts:
            return result
        self._connection.reset()  # ends the operator's connection
        site = site_login(self.variables)
        try:
            done = self._verified(site)
        except AnsibleError as error:
            done = {"rc": 255, "stderr": str(error), "stdout": ""}
        if done["rc"]:
            return result | {"failed": True, "msg": str(_not_taken(self._host, site, done["stderr"] or done["stdout"]))}
        return result | {"add_host": {"host_name": self._host, "groups": [], "host_vars": site.variables()}}

    def _verified(self, site: Login) -> dict[str, Any]:
        """Log in with the site's key only, and become root without a password."""
        for option, value in site.options.items():
            self._connection.set_option(option, value)
        self._connection.set_option("password", None)
        self._play_context.password = self._play_context.become_pass = ""
        self._connection.set_become_plugin(None)  # sudo's own messages, without a password prompt
        command = "true" if site.user == "root" else "sudo -n true"
        done: dict[str, Any] = self._low_level_execute_command(command, sudoable=False)
        return done

    @property
    def _site(self) -> dict[str, Any]:
        site: dict[str, Any] = self.variables["groundup_site"]
        return site

    @property
    def _host(self) -> str:
        return str(self.variables["inventory_hostname"])

    @property
    def _address(self) -> tuple[str, int]:
        """Where its sshd listens."""
        return self.variables["ansible_host"], self._site["access"]["port"]

    @property
    def _predicts(self) -> bool:
        return dry_run(self.variables) or self.changes.check


def planned(variables: Mapping[str, Any], **now: Any) -> dict[str, Any]:
    """Return what is expected of the host with these variables; ``now``: fields that the plan cannot know.

    Not in the playbook: so many templates would take as long as everything else for this host.
    """
    site, host = variables["groundup_site"], variables["groundup_host"]
    checks = site["preflight"]
    own = {
        **now,
        "name": host["name"],
        "site": site["site"],
        "user": site["access"]["user"],
        "releases": site["host"]["debian_releases"],
        "hardware": checks["hardware"][host["hardware"]],
        # If the host layer configures the network, only the interface of the controller's login exists yet.
        "interfaces": [one for one in host["interfaces"] if not host["links"] or one["address"] == host["address"]],
        "manages_network": bool(host["links"]),
        "ports": [link["name"] for link in host["links"] if link["kind"] == "port" and not link["mac"]],
        "neighbours": host["neighbours"],
        "virtual_ip": site["edge"]["address"] if host["name"] in site["edge"]["hosts"] else "",
        "public_ip": _public(site["edge"], host),
    }
    roles = checks["by_roles"]["+".join(host["roles"])]
    if site["monitoring"] and host["name"] == site["monitoring"]["host"]:
        own["listens"] = {**roles["listens"], **checks["monitoring_listens"]}
    parts = ChainMap(own, roles, checks)
    return {one.name: parts[one.name] for one in fields(Expected)}


def _public(edge: Mapping[str, Any], host: Mapping[str, Any]) -> dict[str, str]:
    """Return the virtual IP for users with the address of ``host`` on its network, if the host is to hold it."""
    users = edge["public"] if host["name"] in edge["hosts"] else None
    own = [one["address"] for one in host["interfaces"] if users and one["network"] == users["network"]]
    return {users["address"]: own[0]} if users and own and own[0] else {}


def _contact(login: str, *, placed: bool) -> dict[str, Any]:
    return {"login": login, "placed": placed, "fault": None, "host_key": None}


def _not_taken(host: str, site: Login, said: str) -> GroundupError:
    return GroundupError(
        f"{host} does not take {site.name}, which was just placed",
        where=faults.words(said),
        why="every later task logs in with it alone; your own login still works as before",
        remedy="see journalctl -u ssh there: AllowUsers, AllowGroups or a Match block of sshd_config may keep it out",
    )
