"""Action of module groundup.cloud.ceph: what an orchestrator is told needs the site's secrets and kubeconfig."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import StepAction


class ActionModule(StepAction):
    """Run the step on the host; render the plan's Ceph for an orchestrator here."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["step"] != "orchestrate":
            return super().work(given)
        from ..plugin_utils.compose import site_plan  # late: other steps need neither chart values nor the store
        from ..plugin_utils.storage.apply import ORCHESTRATORS
        from ..plugin_utils.vault import open_store

        plan = site_plan(given["site_file"])
        store = open_store(plan.site, write=False)
        if plan.ceph:
            ORCHESTRATORS[plan.ceph.backend](self.changes, plan, plan.ceph, store, timeout=given["timeout"])
        return {**self.changes.result(), "warnings": self.changes.warnings}
