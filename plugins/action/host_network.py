"""Action of module groundup.cloud.host_network: a change is kept when the host answers over a new connection."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.hosts import HostAction
from ..plugin_utils.layers.layers import NETWORK_IN_TURN

AFTER = 40.0  # seconds beyond the limit: the former network is put back, and the host answers again


class ActionModule(HostAction):
    """Runs the module on the host, twice when there is a change."""

    LAYER = "host"
    NEEDED = NETWORK_IN_TURN  # the next one that the same quorum is made of must not change

    def converge(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return what the module says once the host has decided. Raises AnsibleConnectionFailure."""
        begun: dict[str, Any] = self._execute_module(task_vars=task_vars)
        if begun.get("failed") or not begun.get("pending"):
            return begun
        limit = int(self._task.args.get("seconds", 60)) + AFTER
        confirmed = self._confirmed(task_vars, time.monotonic() + limit)
        kept: dict[str, Any] = {key: begun[key] for key in ("changes", "diff", "warnings") if key in begun}
        return {**confirmed, **kept, "changed": not confirmed.get("failed")}

    def _confirmed(self, task_vars: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Confirm over new connections until the host has decided. Raises AnsibleConnectionFailure."""
        arguments = {**self._task.args, "step": "confirm"}
        while True:
            time.sleep(1)
            # The former connection may hang, and one that outlives the change proves nothing.
            self._connection.reset()
            try:
                answer: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars)
            except AnsibleConnectionFailure:
                if time.monotonic() > deadline:
                    raise
                continue
            if time.monotonic() > deadline or not (answer.get("pending") or answer.get("unreachable")):
                return answer
