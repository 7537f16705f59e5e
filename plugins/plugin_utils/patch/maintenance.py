"""Empty a node of the cluster for maintenance, and have it take pods again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...module_utils._base import consent
from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube import removal
from ..kube.client import Api, ApiError
from ..kube.nodes import NODES
from ..kube.types import Object
from ..kube.workloads import is_ready

_MERGE = "application/merge-patch+json"
_AGAINST = frozenset(("bare-pods", "last-node"))  # of the reasons against a removal; data on its disk stay here
PAUSE = 3.0


def is_cordoned(api: Api, name: str) -> bool:
    """Return whether node ``name`` takes no new pods already. Raises ApiError."""
    return bool((api.get(f"{NODES}/{name}").get("spec") or {}).get("unschedulable"))


def empty(api: Api, name: str, *, timeout: float, say: Callable[[str], None]) -> list[str]:
    """Cordon node ``name`` and evict its pods; return these. Raises GroundupError and ApiError.

    Pods that nobody makes again, or that no other node takes, are a reason against it: then nothing is changed.
    """
    found = removal.survey(api, name)
    against = [one for one in removal.reasons(found) if one.code in _AGAINST]
    consent.refuse(
        "patch", name, [replace(one, code=None) for one in against], (), where=f"Node {name}",
        why="its pods would be lost, or wait until it is back; the host was not changed",
        first="give them a controller, or another node that takes them",
    )  # fmt: skip
    removal.drain(api, found, timeout=timeout, say=say, verb="patch")
    return list(found.pods)


def uncordon(api: Api, name: str) -> None:
    """Have node ``name`` take pods again. Raises ApiError."""
    api.request("PATCH", f"{NODES}/{name}", body={"spec": {"unschedulable": None}}, content_type=_MERGE)


def unready(node: Object, boot: str) -> str:
    """Return why ``node`` does not serve in the present ``boot`` of its host, "" when it does.

    Its kubelet says which boot it saw: for a while after a restart the cluster has it Ready from before.
    """
    kernel = str((node["status"].get("nodeInfo") or {}).get("bootID", ""))
    if kernel != boot.partition(":")[0]:
        return f"its kubelet has not said anything since its boot ({kernel or 'none'} so far)"
    return "" if is_ready(node) else "it is not Ready"


def await_node(api: Api, name: str, boot: str, *, timeout: float) -> None:
    """Wait until node ``name`` is Ready in the present boot. Raises GroundupError."""

    def pending() -> str:
        try:
            return unready(api.get(f"{NODES}/{name}"), boot)
        except ApiError as error:
            return str(error)

    if why := wait_until(pending, timeout=timeout, pause=PAUSE):
        raise GroundupError(
            f"Node {name} does not serve: {why}", where=f"Node {name}, after {timeout:g} s",
            why="the next host goes into maintenance only when this one is back",
            remedy=f"on {name}: journalctl -u kubelet -u containerd; then run this again",
        )  # fmt: skip
