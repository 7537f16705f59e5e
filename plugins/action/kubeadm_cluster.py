"""Action of module groundup.cloud.kubeadm_cluster: runs on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.kube.access import known_ca
from ..plugin_utils.kube.membership import decide


class ActionModule(DocumentedAction):
    """Compare the control hosts' answers with the controller's record."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the cluster's CA."""
        known = known_ca(given["site"])
        return {"changed": False, "ca": decide(given["hosts"], first=given["first"], known=known)}
