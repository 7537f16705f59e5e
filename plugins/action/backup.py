"""Action of module groundup.cloud.backup: keep backups on the controller, and send one to the host to restore it."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import backup
from ..plugin_utils.actions import StepAction
from ..plugin_utils.plan import load_site, make_plan


class ActionModule(StepAction):
    """Run one step of a part, with the module on the host where the part needs it."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        self._play_context.no_log = True  # with -vvv the connection would show what is saved: BMC passwords, say
        own = {"part": given["part"], "name": self.variables["inventory_hostname"]}

        def on_host(step: str, **options: Any) -> dict[str, Any]:
            return self.on_host(step=step, given=own | options)

        part = backup.find(given["part"])(make_plan(load_site(given["site_file"])), on_host)
        if given["step"] == "verify":
            return part.verify(days=given["days"])
        if given["step"] == "take":
            return part.take(keep=given["keep"])
        go = given["step"] == "restore"
        return part.restore(source=given["source"], force=given["force"], go=go)
