"""Action of module groundup.cloud.ovn_clusters: runs on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.ovn import record
from ..plugin_utils.ovn.clusters import decide


class ActionModule(DocumentedAction):
    """Compare the control hosts' answers with the controller's record."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the databases whose clusters are to be created."""
        known = record.known(given.pop("site"))
        return {"changed": False, "create": decide(**given, known=known)}
