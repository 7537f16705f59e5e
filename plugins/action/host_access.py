"""Action of module groundup.cloud.host_access: place the site's key over the operator's login, then log in with it."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ..module_utils._base.errors import GroundupError
from ..plugin_utils.contact import faults, logins
from ..plugin_utils.run_mode import dry_run

MODULE = "groundup.cloud.host_access"


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Runs on hosts that `host_preflight` reached with the operator's login."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result; later tasks log in with the site's key."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        result |= self._execute_module(MODULE, task_vars=variables)
        if result.get("failed") or self._task.check_mode or dry_run(variables):
            return result
        self._connection.reset()  # ends the operator's connection
        name, site = variables["inventory_hostname"], logins.site_login(variables)
        try:
            done = self._verified(site)
        except AnsibleError as error:
            done = {"rc": 255, "stderr": str(error), "stdout": ""}
        if done["rc"]:
            return result | {"failed": True, "msg": str(_not_taken(name, site, done["stderr"] or done["stdout"]))}
        host = {"host_name": name, "groups": [], "host_vars": site.variables()}
        return result | {"add_host": host}

    def _verified(self, site: logins.Login) -> dict[str, Any]:
        """Log in with the site's key only, and become root without a password."""
        for option, value in site.options.items():
            self._connection.set_option(option, value)
        self._connection.set_option("password", None)
        self._play_context.password = self._play_context.become_pass = ""
        self._connection.set_become_plugin(None)  # sudo's own messages, without a password prompt
        command = "true" if site.user == "root" else "sudo -n true"
        done: dict[str, Any] = self._low_level_execute_command(command, sudoable=False)
        return done


def _not_taken(host: str, site: logins.Login, said: str) -> GroundupError:
    return GroundupError(
        f"{host} does not take {site.name}, which was just placed",
        where=faults.words(said),
        why="every later task logs in with it alone; your own login still works as before",
        remedy="see journalctl -u ssh there: AllowUsers, AllowGroups or a Match block of sshd_config may keep it out",
    )
