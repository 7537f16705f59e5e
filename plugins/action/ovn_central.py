"""Action of module groundup.cloud.ovn_central: pass the site's cluster ids to the host, and record new ones."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils.actions import finish
from ..plugin_utils.ovn import record


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Run the module on the host; read the record before and write it afterwards."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        return finish(result, lambda: self._converge(task_vars or {}))

    def _converge(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        arguments = dict(self._task.args)
        site = str(arguments.get("site", ""))
        arguments["clusters"] = record.known(site)
        done: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars)
        if not done.get("failed") and not self._task.check_mode:
            record.keep(site, done.get("databases") or {})
        return done
