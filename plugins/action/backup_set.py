"""Action of module groundup.cloud.backup_set: what hosts hand over is read there, all else is done here."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import site_identity
from ..plugin_utils.actions import StepAction
from ..plugin_utils.backup.sets import handed
from ..plugin_utils.plan import Plan, load_site, make_plan


class ActionModule(StepAction):
    """Run one step."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        self._play_context.no_log = True  # with -vvv the connection would show the keys
        plan = make_plan(load_site(given["site_file"]))
        if given["step"] == "hand":
            name = self.variables["inventory_hostname"]
            return handed.hand(
                plan, name, lambda part, options: self.on_host(step="hand", given={"part": part, **options})
            )
        from ..plugin_utils.backup.sets import timer
        from ..plugin_utils.backup.sets.job import BackupJob  # late: hosts are asked first

        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        if given["step"] == "timer":
            timer.converge(plan, given["site_file"], self.changes)
            return self.changes.result()
        job = BackupJob(plan, given, self.changes)
        steps = {
            "take": lambda: job.take(self._said(plan)), "test": lambda: job.test(say=self._display.display),
            "upload": job.upload, "verify": job.verify, "open": job.open,
        }  # fmt: skip
        return steps[given["step"]]()

    def _said(self, plan: Plan) -> dict[str, dict[str, Any]]:
        """Return what hosts handed over in this run."""
        said = ((host, self.variables["hostvars"].get(host) or {}) for host in plan.hosts)
        return {host: found[handed.RESULT] for host, found in said if handed.RESULT in found}
