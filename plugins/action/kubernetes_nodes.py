"""Action of module groundup.cloud.kubernetes_nodes: runs on the controller."""

from __future__ import annotations

import json
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.hosts import of_nodes
from ..plugin_utils.kube import run_lease
from ..plugin_utils.kube.access import keep_nodes, kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.kube.nodes import converge, new, wait_ready, wanted


class ActionModule(DocumentedAction):
    """Label and taint nodes with the admin kubeconfig of the site, and wait until they are Ready."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes, with a diff."""
        return self._converge(**given)

    def _converge(self, site: str, hosts: list[dict[str, Any]], known: list[str], timeout: int) -> dict[str, Any]:
        changes, wants = self.changes, [wanted(host) for host in hosts]
        kubeconfig, said = kubeconfig_path(site), dict[str, Any]()
        spare = {host["name"] for host in hosts if "control" not in host["roles"]}
        if changes.check and not kubeconfig.is_file():
            for want in wants:
                changes.add(want.name, name=want.name, after=json.dumps(new(want), indent=2) + "\n")
        else:
            api = Api(kubeconfig)
            converge(api, wants, changes, timeout=timeout, spare=spare)
            if not changes.check:
                names = [want.name for want in wants]
                seen = wait_ready(api, names, timeout=timeout, spare=spare, known=known)
                keep_nodes(site, seen.names)
                said = of_nodes(seen)
                run_lease.release(api)  # the last step that changes control hosts or the set of nodes
        return {"changed": bool(changes.done), "nodes": changes.done, "diff": changes.diffs, **said}
