"""Action of module groundup.cloud.host_network: keep a change only if the host answers over a new connection."""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.hosts import HostAction
from ..plugin_utils.layers.layers import NETWORK_IN_TURN

AFTER = 40.0  # seconds beyond the limit, to restore the former network and reach the host again


class ActionModule(HostAction):
    """Run the module on the host, a second time to confirm a change."""

    LAYER = "host"
    NEEDED = NETWORK_IN_TURN  # if it fails, the next host of the same quorum must not change

    def converge(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return the module's result once the change is kept or rolled back. Raises AnsibleConnectionFailure."""
        begun: dict[str, Any] = self._execute_module(task_vars=task_vars)
        if begun.get("failed") or not begun.get("pending"):
            return begun
        limit = int(self._task.args.get("seconds", 60)) + AFTER
        confirmed = self._confirmed(task_vars, time.monotonic() + limit)
        kept: dict[str, Any] = {key: begun[key] for key in ("changes", "diff", "warnings") if key in begun}
        return {**confirmed, **kept, "changed": not confirmed.get("failed")}

    def _confirmed(self, task_vars: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Confirm over new connections until the change is kept or rolled back. Raises AnsibleConnectionFailure."""
        arguments = {**self._task.args, "step": "confirm"}
        while True:
            time.sleep(1)
            # The former connection may hang; and if it survives the change, that proves nothing.
            self._connection.reset()
            try:
                answer: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars)
            except AnsibleConnectionFailure:
                if time.monotonic() > deadline:
                    raise
                continue
            if time.monotonic() > deadline or not (answer.get("pending") or answer.get("unreachable")):
                return answer
