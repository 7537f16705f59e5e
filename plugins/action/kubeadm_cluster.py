"""Action of module groundup.cloud.kubeadm_cluster: runs on the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import known_ca
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.membership import decide

ARGUMENTS = {
    "site": {"type": "str", "required": True},
    "hosts": {"type": "list", "elements": "dict", "required": True},
    "first": {"type": "str", "required": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Compares what control hosts said with what the controller knows."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the cluster's CA."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        return finish(
            result,
            lambda: {
                "changed": False,
                "ca": decide(given["hosts"], first=given["first"], known=known_ca(given["site"])),
            },
        )
