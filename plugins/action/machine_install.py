"""Action of module groundup.cloud.machine_install: on the controller, for all machines at once."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.install import install
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import shown
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.runner import Runner
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

ARGUMENTS = {
    "site_file": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "layers": {"type": "list", "elements": "str", "default": []},
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
            say = self._display.display
            runner = Runner(
                site_file=Path(given["site_file"]), home=home_of(plan.site), layers=given["layers"], say=say
            )
            then = runner.configure if given["layers"] else None
            at_once, timeout = given["at_once"], given["timeout"]
            with nullcontext() if changes.check else shown(plan, say):
                install(changes, plan, given["hosts"], say, at_once=at_once, timeout=timeout, then=then)
            return changes.result()

        return finish(result, work, changes=changes)
