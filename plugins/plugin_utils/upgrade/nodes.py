"""Nodes around the upgrade of their kubelet: cordoned and drained before, let in again after."""

from __future__ import annotations

from collections.abc import Sequence

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube import removal
from ..kube.client import Api
from ..kube.nodes import NODES, not_ready
from ..kube.types import Object
from ..progress import Progress
from .steps import Version

CORDONED = "groundup.cloud/cordoned"  # annotation of a node: who has cordoned it
OURS = "kubernetes_upgrade"
_STATE = "node.kubernetes.io/"  # taints by which Kubernetes says that a node is cordoned or not Ready
READY = 300.0  # seconds until a node with another kubelet is Ready
_MERGE = "application/merge-patch+json"


def is_ours(node: Object) -> bool:
    """Return whether an upgrade has cordoned ``node``."""
    return bool((node["metadata"].get("annotations") or {}).get(CORDONED) == OURS)


def comes_back(node: Object) -> bool:
    """Return whether ``node`` takes pods again once an upgrade ends its cordon."""
    blocks = [one for one in (node.get("spec") or {}).get("taints") or () if one.get("effect") != "PreferNoSchedule"]
    return is_ours(node) and all(str(one.get("key")).startswith(_STATE) for one in blocks)


def close(api: Api, host: str) -> None:
    """Cordon ``host``, unless somebody has: then it stays theirs. Raises ApiError."""
    if not (api.get(f"{NODES}/{host}").get("spec") or {}).get("unschedulable"):
        _patch(api, host, owner=OURS, unschedulable=True)


def drain(api: Api, host: str, *, timeout: float, say: Progress, spare: bool) -> None:
    """Move the pods of ``host`` away. With ``spare``, those that nobody takes stay, and go on as they can.

    Raises ApiError, and GroundupError with a line for each pod that did not go.
    """
    nodes = {str(node["metadata"]["name"]): node for node in api.get(NODES)["items"]}
    leaving = removal.leaving(api, host, nodes=nodes, volumes=())  # a node that comes back keeps its volumes
    if spare and not leaving.others:
        say(f"[upgrade] {host} is not drained: no other node takes its {len(leaving.pods)} pod(s)")
        return
    try:
        removal.drain(api, leaving, timeout=timeout, say=say, verb="kubernetes_upgrade")
    except GroundupError as error:
        if not spare:
            raise
        say(f"[upgrade] {host} is not drained, as accepted (undrained): {error.what}")


def let_in(api: Api, hosts: Sequence[str], version: Version) -> None:
    """Wait until the kubelets of ``hosts`` have ``version`` and are Ready; end our cordon. Raises GroundupError."""
    found = dict[str, Object]()

    def pending() -> list[str]:
        found.clear()
        found.update({str(node["metadata"]["name"]): node for node in api.get(NODES)["items"]})
        runs = {host: str(found[host]["status"]["nodeInfo"]["kubeletVersion"]) for host in hosts if host in found}
        # Ready beside another version is what the former kubelet said last.
        late = [(host, one) for host, one in runs.items() if Version.of(one) != version]
        kubelets = (f"the kubelet of {host} is {one}, not v{version}" for host, one in late)
        return [*kubelets, *(f"{host}: {why}" for host, why in sorted(not_ready(found, hosts).items()))]

    if wrong := wait_until(pending, timeout=READY, pause=2.0):
        raise GroundupError(
            f"after {READY:.0f} s: {'; '.join(wrong)}", where=f"Node {', '.join(hosts)}, which takes no new pods",
            why="a node that is let in with another kubelet would be forgotten",
            remedy="see journalctl -u kubelet there; run this again",
        )  # fmt: skip
    for host in hosts:
        if is_ours(found[host]):
            _patch(api, host, owner=None, unschedulable=None)


def _patch(api: Api, host: str, *, owner: str | None, unschedulable: bool | None) -> None:
    body = {"metadata": {"annotations": {CORDONED: owner}}, "spec": {"unschedulable": unschedulable}}
    api.request("PATCH", f"{NODES}/{host}", body=body, content_type=_MERGE)
