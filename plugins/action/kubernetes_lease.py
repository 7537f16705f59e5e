"""Action of module groundup.cloud.kubernetes_lease: runs on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.kube import run_lease


class ActionModule(DocumentedAction):
    """Take the lease for the run that started this worker."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return a warning if the cluster does not answer."""
        if self._task.check_mode:
            return {"changed": False}
        return {"changed": False, "warnings": run_lease.of_site(given["site"])}
