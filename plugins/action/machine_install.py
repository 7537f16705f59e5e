"""Action of module groundup.cloud.machine_install: on the controller, for all machines at once."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.install import install
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

ARGUMENTS = {
    "site_file": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "at_once": {"type": "int", "default": 20},
    "timeout": {"type": "int", "default": 3600},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Brings machines to installed."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was done."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        changes = Changes(check=bool(self._task.check_mode))

        def work() -> dict[str, Any]:
            plan = make_plan(load_site(given["site_file"]))
            install(
                changes, plan, given["hosts"], self._display.display, at_once=given["at_once"], timeout=given["timeout"]
            )
            return changes.result()

        return finish(result, work, changes=changes)
