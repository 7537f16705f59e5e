"""Action of module groundup.cloud.kubernetes_objects: runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.objects import (
    Applier,
    ObjectDiff,
    in_order,
    readable,
    title,
)


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """Applies objects with the admin kubeconfig of the site."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what changed, with a diff."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "site": {"type": "str", "required": True},
                "objects": {"type": "list", "elements": "dict", "required": True},
            }
        )
        check = bool(self._task.check_mode)
        try:
            items = in_order(_checked(arguments["objects"]))
            kubeconfig = kubeconfig_path(arguments["site"])
            if check and not kubeconfig.is_file():  # there will be a cluster, and nothing in it
                changes = [ObjectDiff(name=title(item), before="", after=readable(item)) for item in items]
            else:
                applier = Applier(Api(kubeconfig))
                changes = list(filter(None, (applier.apply(item, check=check) for item in items)))
        except GroundupError as error:
            raise AnsibleActionFail(str(error)) from error
        return result | {
            "changed": bool(changes),
            "objects": [change.name for change in changes],
            "diff": [
                {"before_header": c.name, "after_header": c.name, "before": c.before, "after": c.after} for c in changes
            ],
        }


def _checked(objects: list[Any]) -> list[Mapping[str, Any]]:
    for item in objects:
        if not isinstance(item, Mapping) or not all(key in item for key in ("apiVersion", "kind", "metadata")):
            raise AnsibleActionFail(
                "every object needs apiVersion, kind and metadata: look at the template it comes from"
            )
    # Ansible's strings carry marks that YAML cannot write: plain ones from here on.
    plain: list[Mapping[str, Any]] = json.loads(json.dumps(objects))
    return plain
