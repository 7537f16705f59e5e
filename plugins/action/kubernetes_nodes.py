"""Action of module groundup.cloud.kubernetes_nodes: runs on the controller."""

from __future__ import annotations

import json
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.nodes import converge, wait_ready, wanted


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Labels and taints nodes with the admin kubeconfig of the site, and waits for them."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what changed, with a diff."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "site": {"type": "str", "required": True},
                "hosts": {"type": "list", "elements": "dict", "required": True},
                "timeout": {"type": "int", "default": 180},
            }
        )
        check = bool(self._task.check_mode)
        wants = tuple(wanted(host) for host in arguments["hosts"])
        try:
            kubeconfig = kubeconfig_path(arguments["site"])
            if check and not kubeconfig.is_file():
                changes = [(want.name, {"metadata": {"labels": dict(want.labels)}}) for want in wants]
            else:
                api = Api(kubeconfig)
                changes = list(converge(api, wants, check=check, timeout=arguments["timeout"]))
                if not check:
                    wait_ready(api, {want.name for want in wants}, timeout=arguments["timeout"])
        except GroundupError as error:
            raise AnsibleActionFail(str(error)) from error
        diff = [
            {"before_header": name, "after_header": name, "before": "", "after": json.dumps(change, indent=2) + "\n"}
            for name, change in changes
        ]
        return result | {"changed": bool(changes), "nodes": [name for name, _ in changes], "diff": diff}
