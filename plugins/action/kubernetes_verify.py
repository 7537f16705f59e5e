"""Action of module groundup.cloud.kubernetes_verify: runs on the controller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.hosts import of_nodes
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.verify import verify


class ActionModule(DocumentedAction):
    """Verify the cluster with the admin kubeconfig of the site."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the report; fail if something does not work."""
        if self._task.check_mode:
            return {"skipped": True, "msg": "the probe makes a pod: nothing is verified in check mode"}
        return _verify(**given)


def _verify(site: str, nodes: list[str], spare: list[str], known: list[str], **options: Any) -> dict[str, Any]:
    kubeconfig = kubeconfig_path(site)
    found, seen = verify(
        kubeconfig, site=site, nodes=tuple(nodes), spare=frozenset(spare), known=frozenset(known), **options
    )
    said = of_nodes(seen)
    warnings = [*found.warnings, *said.pop("warnings")]
    return {"changed": False, "warnings": warnings, "report": asdict(found), **said}
