"""Remove a machine from the cluster: its pods, its Node, and volumes on its disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import GroundupError
from ..kube import removal, run_lease
from ..kube.access import keep_nodes, known_nodes, kubeconfig_path
from ..kube.client import Api
from ..kube.removal import LeavingNode
from ..upgrade import journal
from .base import Verb

GONE = 120.0  # seconds for the cluster to delete the pods of a node that was down


class Remove(Verb[LeavingNode]):
    """Take it out of the cluster. Between the steps, the playbook takes it out of etcd and stops its services."""

    name = "remove"
    one = "one machine is removed at a time"
    loses = "what is left of it may be waited for"
    stays_off = True
    codes = (
        "local-volumes",
        "other-volumes",
        "bare-pods",
        "last-node",
        "control-count",
    )  # other-volumes: of node's reset

    def survey(self) -> LeavingNode:
        """Return its Node, pods and local volumes, and the other nodes."""
        self.api = Api(kubeconfig_path(self.asked.plan.site))
        return removal.survey(self.api, self.asked.machine)

    def refuse(self, state: LeavingNode) -> LeavingNode:
        """Return ``state``. Raises GroundupError for a reason against it that ``force`` does not accept.

        A node that works waits for an upgrade that is open; one that does not may be what the upgrade waits for.
        """
        if state.ready:
            journal.refuse_open(self.asked.plan.site, "groundup.cloud.remove")
        removal.refuse(state, self.asked.force)
        return state

    def predict(self, state: LeavingNode) -> list[str]:
        lines = [f"evict {pod}" for pod in state.pods]
        lines += [f"remove the etcd member of {state.name}"] if state.control or "control" in self.roles else []
        lines += [f"delete Node {state.name}"] if state.found else []
        return lines + [
            f"delete {'volume claim ' if one.claim else ''}{one}, whose data are on it" for one in state.volumes
        ]

    def facts(self, state: LeavingNode) -> dict[str, Any]:
        """Return whom to ask about etcd, and what is on its disk. Raises GroundupError for the seed."""
        name, roles, hosts = state.name, self.roles, self.asked.plan.hosts
        if "seed" in roles:
            raise GroundupError(
                f"{name} is the seed of the site",
                where=f"machine {name}",
                why="every host fetches images and packages from it",
                remedy="make another machine the seed first: take the role from this one and run the layers",
            )
        control = [host for host, one in hosts.items() if "control" in one.roles]
        contact = next((host for host in state.control_left if host in control), "")
        if state.control and not contact:
            raise GroundupError(
                f"no control host of the site file stays in the cluster beside {name}",
                where=f"site file: {', '.join(control) or 'no control host'}; cluster: {', '.join(state.control_left)}",
                why="its etcd member is removed from a control host that stays",
                remedy="write one of those that stay into the site file",
            )
        others = {one.address for host, one in hosts.items() if host != name}
        return {
            # Without a Node and not in the site file, only etcd may know it as a control host.
            "control": state.control or "control" in roles or not (state.found or roles),
            "address": "" if state.address in others else state.address,  # another machine's now
            "directories": sorted(one.directory for one in state.volumes if one.directory),
            "contact": contact or next((host for host in control if host != name), ""),
        }

    def steps(self) -> Mapping[str, Callable[[LeavingNode], dict[str, Any]]]:
        return {"drain": self.drain, "delete": self.delete}

    def drain(self, state: LeavingNode) -> dict[str, Any]:
        """Cordon the node and evict its pods."""
        self._hold()
        removal.drain(self.api, state, timeout=self.asked.timeout or 600, say=self.asked.say)
        self._hold()  # renew: the drain may have outlasted the lease, and etcd is next
        return {"changes": [f"evict {pod}" for pod in state.pods]}

    def delete(self, state: LeavingNode) -> dict[str, Any]:
        """Delete the Node, and claims and volumes on its disk."""
        self._hold()
        done = removal.delete(self.api, state)
        site = self.asked.plan.site
        keep_nodes(site, known_nodes(site) - {state.name})
        run_lease.release(self.api)
        return {"changes": [f"delete {line}" for line in done]}

    def remains(self, state: LeavingNode) -> list[str]:
        """Return what the cluster still has of it."""
        left = removal.remains(self.api, state.name, timeout=GONE)
        return [f"the cluster still has {one}; kubectl describe it, a finalizer may hold it" for one in left]

    def _hold(self) -> None:
        if busy := run_lease.hold(self.api):
            self.asked.say(f"[remove] {busy}")


VERB = Remove
