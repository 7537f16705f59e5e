"""Action of module groundup.cloud.ceph_orchestrated: runs on the controller, with the site's secrets and kubeconfig."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.storage.apply import ORCHESTRATORS
from ..plugin_utils.vault import open_store


class ActionModule(DocumentedAction):
    """Render the plan's Ceph for the site's orchestrator."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes. Raises GroundupError."""
        plan = site_plan(given["site_file"])
        store = open_store(plan.site, write=False)
        if plan.ceph:
            ORCHESTRATORS[plan.ceph.backend](self.changes, plan, plan.ceph, store, timeout=given["timeout"])
        return {**self.changes.result(), "warnings": self.changes.warnings}
