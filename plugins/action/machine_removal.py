"""Action of module groundup.cloud.machine_removal: runs on the controller."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.kube import removal, run_lease
from ..plugin_utils.kube.access import keep_nodes, known_nodes, kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.kube.removal import LeavingNode
from ..plugin_utils.verbs.base import named

GONE = 120.0  # seconds for the cluster to delete the pods of a node that was down


class ActionModule(DocumentedAction):
    """Run one step of a removal."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result."""
        name = named("remove", given["name"], why="one machine is removed at a time")
        api = Api(kubeconfig_path(given["site"]))
        if given["step"] == "verify":
            return _verified(api, name)
        leaving = removal.survey(api, name)
        removal.refuse(leaving, given["force"])
        if given["step"] == "check":
            return foretold(leaving, given)
        self._hold(api)
        if given["step"] == "drain":
            removal.drain(api, leaving, timeout=given["timeout"], say=self._display.display)
            self._hold(api)  # renew: the drain may have outlasted the lease, and etcd is next
            return {"changed": bool(leaving.pods), "changes": [f"evict {pod}" for pod in leaving.pods]}
        done = removal.delete(api, leaving)
        keep_nodes(given["site"], known_nodes(given["site"]) - {name})
        run_lease.release(api)
        return {"changed": bool(done), "changes": [f"delete {line}" for line in done]}

    def _hold(self, api: Api) -> None:
        if busy := run_lease.hold(api):
            self._display.warning(busy)


def foretold(leaving: LeavingNode, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a removal would do. Raises GroundupError for a machine that this verb must not remove."""
    name, roles = leaving.name, given["roles"]
    if "seed" in roles:
        raise GroundupError(
            f"{name} is the seed of the site",
            where=f"machine {name}",
            why="every host fetches images and packages from it",
            remedy="make another machine the seed first: take the role from this one and run the layers",
        )
    contact = next((host for host in leaving.control_left if host in given["control"]), "")
    if leaving.control and not contact:
        raise GroundupError(
            f"no control host of the site file stays in the cluster beside {name}",
            where=f"site file: {', '.join(given['control']) or 'no control host'}; cluster: "
            f"{', '.join(leaving.control_left)}",
            why="its etcd member is removed from a control host that stays",
            remedy="write one of those that stay into the site file",
        )
    lines = [f"evict {pod}" for pod in leaving.pods]
    lines += [f"remove the etcd member of {name}"] if leaving.control or "control" in roles else []
    lines += [f"delete Node {name}"] if leaving.found else []
    lines += [f"delete {'volume claim ' if one.claim else ''}{one}, whose data are on it" for one in leaving.volumes]
    return {
        "changed": bool(lines),
        "changes": lines,
        # Without a Node and not in the site file, only etcd may know it as a control host.
        "control": leaving.control or "control" in roles or not (leaving.found or roles),
        "address": "" if leaving.address in given["addresses"] else leaving.address,
        "directories": sorted(one.directory for one in leaving.volumes if one.directory),
        "contact": contact or next((host for host in given["control"] if host != name), ""),
    }


def _verified(api: Api, name: str) -> dict[str, Any]:
    if left := removal.remains(api, name, timeout=GONE):
        raise GroundupError(
            f"the cluster still has: {', '.join(left)}",
            where=f"machine {name}",
            why="what is left of it may be waited for",
            remedy="kubectl describe it; a finalizer may hold it. Then run this again",
        )
    return {"changed": False, "changes": []}
