"""Action of module groundup.cloud.kubernetes_verify: runs on the controller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.hosts import of_nodes
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.verify import verify

ARGUMENTS = {
    "site": {"type": "str", "required": True},
    "server": {"type": "str", "required": True},
    "nodes": {"type": "list", "elements": "str", "required": True},
    "spare": {"type": "list", "elements": "str", "default": []},
    "known": {"type": "list", "elements": "str", "default": []},
    "dns_domain": {"type": "str", "default": "cluster.local"},
    "image": {"type": "str", "required": True},
    "storage_class": {"type": "str", "required": True},
    "timeout": {"type": "int", "default": 120},
    "certificates": {"type": "dict", "default": {}},
    "certificate_days": {"type": "int", "default": 30},
    "edge": {"type": "str"},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Asks the cluster with the admin kubeconfig of the site."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was seen; what does not serve is a failure."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(ARGUMENTS)
        if self._task.check_mode:
            return result | {"skipped": True, "msg": "the probe makes a pod: nothing is verified in check mode"}
        return finish(result, lambda: _verify(**given))


def _verify(site: str, nodes: list[str], spare: list[str], known: list[str], **options: Any) -> dict[str, Any]:
    kubeconfig = kubeconfig_path(site)
    found, seen = verify(
        kubeconfig, site=site, nodes=tuple(nodes), spare=frozenset(spare), known=frozenset(known), **options
    )
    said = of_nodes(seen)
    warnings = [*found.warnings, *said.pop("warnings")]
    return {"changed": False, "warnings": warnings, "report": asdict(found), **said}
