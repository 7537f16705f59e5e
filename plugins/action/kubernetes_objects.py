"""Action of module groundup.cloud.kubernetes_objects: runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.kube.objects import Applier, in_order, shown, title


class ActionModule(DocumentedAction):
    """Apply objects with the admin kubeconfig of the site."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes, with a diff."""
        changes, kubeconfig = self.changes, kubeconfig_path(given["site"])
        items = in_order(_checked(given["objects"]))
        if changes.check and not kubeconfig.is_file():  # the cluster does not exist yet: everything is new
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
    # Ansible's strings are tagged objects that YAML cannot write: convert to plain ones.
    plain: list[Mapping[str, Any]] = json.loads(json.dumps(objects))
    return plain
