"""Action of module groundup.cloud.machine_approve."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.install import approve
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

ARGUMENTS = {"site_file": {"type": "path", "required": True}, "name": {"type": "str", "required": True}}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Lets one machine go on."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was approved."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        changes = Changes(check=bool(self._task.check_mode))

        def work() -> dict[str, Any]:
            approve(changes, make_plan(load_site(given["site_file"])), given["name"], self._display.display)
            return changes.result()

        return finish(result, work, changes=changes)
