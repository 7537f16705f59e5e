"""Action of module groundup.cloud.kubernetes_objects: runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import finish
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.objects import Applier, in_order, shown, title

ARGUMENTS = {
    "site": {"type": "str", "required": True},
    "objects": {"type": "list", "elements": "dict", "required": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Applies objects with the admin kubeconfig of the site."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what changed, with a diff."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(ARGUMENTS)
        return finish(result, lambda: self._apply(**arguments))

    def _apply(self, site: str, objects: list[Any]) -> dict[str, Any]:
        changes, kubeconfig = Changes(check=bool(self._task.check_mode)), kubeconfig_path(site)
        items = in_order(_checked(objects))
        if changes.check and not kubeconfig.is_file():  # there will be a cluster, and nothing in it
            for item in items:
                changes.add(title(item), name=title(item), after=shown(item))
        else:
            applier = Applier(Api(kubeconfig))
            for item in items:
                applier.apply(item, changes)
        return {"changed": bool(changes.done), "objects": changes.done, "diff": changes.diffs}


def _checked(objects: list[Any]) -> list[Mapping[str, Any]]:
    for item in objects:
        if not isinstance(item, Mapping) or not all(key in item for key in ("apiVersion", "kind", "metadata")):
            raise AnsibleActionFail(
                "every object needs apiVersion, kind and metadata: look at the template it comes from"
            )
    # Ansible's strings carry marks that YAML cannot write: plain ones from here on.
    plain: list[Mapping[str, Any]] = json.loads(json.dumps(objects))
    return plain
