"""Action of module groundup.cloud.kubernetes_lease: runs on the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Takes the lease of the run that started this worker."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return a warning when the cluster could not be asked."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec({"site": {"type": "str", "required": True}})
        if self._task.check_mode:
            return result | {"changed": False}
        return finish(result, lambda: {"changed": False, "warnings": run_lease.of_site(given["site"])})
