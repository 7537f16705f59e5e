"""Action of module groundup.cloud.ovn_clusters: runs on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.ovn import record
from ..plugin_utils.ovn.clusters import decide


class ActionModule(DocumentedAction):
    """Compares what control hosts said with what the controller knows."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the databases to make clusters of."""
        known = record.known(given.pop("site"))
        return {"changed": False, "create": decide(**given, known=known)}
