"""Action of module groundup.cloud.kubernetes_verify: runs on the controller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.verify import verify


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Asks the cluster with the admin kubeconfig of the site."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what was seen; what does not serve is a failure."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(
            {
                "site": {"type": "str", "required": True},
                "server": {"type": "str", "required": True},
                "nodes": {"type": "list", "elements": "str", "required": True},
                "dns_domain": {"type": "str", "default": "cluster.local"},
                "image": {"type": "str", "required": True},
                "storage_class": {"type": "str", "required": True},
                "timeout": {"type": "int", "default": 120},
            }
        )
        if self._task.check_mode:
            return result | {"skipped": True, "msg": "the probe makes a pod: nothing is verified in check mode"}
        kubeconfig = kubeconfig_path(given.pop("site"))
        try:
            report = verify(kubeconfig, **given | {"nodes": tuple(given["nodes"]), "timeout": float(given["timeout"])})
        except GroundupError as error:
            raise AnsibleActionFail(str(error)) from error
        result["warnings"] = [*result.get("warnings", []), *report.warnings]
        return result | {"changed": False, "report": asdict(report)}
