"""Action of module groundup.cloud.backup_set: all but the keys of a control host is read and written here."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import site_identity
from ..plugin_utils.actions import StepAction
from ..plugin_utils.plan import load_site, make_plan


class ActionModule(StepAction):
    """Run one step."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        self._play_context.no_log = True  # with -vvv the connection would show the keys
        if given["step"] == "look":
            return self._keys("look")
        from ..plugin_utils.backup.sets.job import BackupJob  # late: every control host is asked first

        plan = make_plan(load_site(given["site_file"]))
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        job = BackupJob(plan, given, self.changes)
        if given["step"] == "test":
            return job.test(say=self._display.display)
        if given["step"] == "verify":
            return job.verify()
        if given["step"] == "open":
            return job.open()
        handed = self._keys("take")
        if "content" not in handed:
            return handed
        return job.take(host=self.variables["inventory_hostname"], content=handed.pop("content"))

    def _keys(self, step: str) -> dict[str, Any]:
        return self.on_host(step=step, given={"name": self.variables["inventory_hostname"]})
