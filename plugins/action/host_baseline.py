"""Action of modules groundup.cloud.host_baseline and host_info: a host that fails is set aside."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils.hosts import spared


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Runs the module on the host."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        return result | spared(
            lambda: self._execute_module(task_vars=task_vars),
            task_vars or {},
            layer="host",
            spare=not self._task.check_mode,
        )
