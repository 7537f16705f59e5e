"""Action of module groundup.cloud.ovn_clusters: runs on the controller."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.ovn import record
from ansible_collections.groundup.cloud.plugins.plugin_utils.ovn.clusters import decide

ARGUMENTS = {
    "site": {"type": "str", "required": True},
    "answers": {"type": "dict", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Compares what control hosts said with what the controller knows."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the databases to make clusters of."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        site = given.pop("site")
        return finish(result, lambda: {"changed": False, "create": decide(**given, known=record.known(site))})
