"""Remove a node from the cluster: survey its pods and local volumes, drain it, delete it.

The drain works like `kubectl drain`: cordon the node, then evict each pod, which PodDisruptionBudgets may refuse for a
while. Losing pods without a controller, or data on the node's disk, needs the operator's consent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ...module_utils._base import consent
from ...module_utils._base.consent import Reason
from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from .client import Api, ApiError
from .nodes import CONTROL, NODES
from .types import Object, resource_path
from .workloads import is_ready

VOLUMES = resource_path("v1", "persistentvolumes")
_HOST = "kubernetes.io/hostname"
_MERGE = "application/merge-patch+json"
_MIRROR = "kubernetes.io/config.mirror"
_PAUSE = 2.0
SMALLEST = 3  # control hosts: the minimum that survives the loss of one


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A volume on the node's own disk."""

    name: str
    namespace: str
    claim: str  # bound to this volume; empty when none is, or that name is bound to another
    uid: str = ""  # of the claim
    directory: str = ""  # on the node

    def __str__(self) -> str:
        return f"{self.namespace}/{self.claim}" if self.claim else f"volume {self.name}, which no claim uses"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingNode:
    """A node, and what is removed with it."""

    name: str
    found: bool  # whether the cluster has a Node of that name
    ready: bool
    control: bool
    address: str  # empty when another Node has it now
    others: tuple[str, ...]  # other Ready nodes that take pods
    control_left: tuple[str, ...]  # other control hosts, Ready ones first
    pods: tuple[str, ...]  # namespace/name
    bare: tuple[str, ...]  # those of them without a controller
    volumes: tuple[Volume, ...]


def survey(api: Api, name: str) -> LeavingNode:
    """Return node ``name``, its pods and local volumes, and the remaining nodes. Raises ApiError."""
    nodes = {str(node["metadata"]["name"]): node for node in api.get(NODES)["items"]}
    return leaving(api, name, nodes=nodes, volumes=api.get(VOLUMES)["items"])


def leaving(api: Api, name: str, *, nodes: Mapping[str, Object], volumes: Sequence[Object]) -> LeavingNode:
    """Return node ``name`` of ``nodes``, its pods, and its own of ``volumes`` (of the cluster). Raises ApiError."""
    node, nodes = nodes.get(name), {other: item for other, item in nodes.items() if other != name}
    pods = _pods(api, name)
    address = _address(node or {})
    control_left = [other for other, item in nodes.items() if is_control(item)]
    return LeavingNode(
        name=name,
        found=node is not None,
        ready=node is not None and is_ready(node),
        control=node is not None and is_control(node),
        address="" if address in map(_address, nodes.values()) else address,
        others=tuple(other for other, item in nodes.items() if is_ready(item) and _takes_pods(item)),
        control_left=tuple(sorted(control_left, key=lambda other: not is_ready(nodes[other]))),
        pods=tuple(map(_key, pods)),
        bare=tuple(_key(pod) for pod in pods if not pod["metadata"].get("ownerReferences")),
        volumes=tuple(_volume(api, item) for item in volumes if name in _hosts(item)),
    )


def reasons(leaving: LeavingNode) -> list[Reason]:
    """Return all reasons against the removal."""
    found = []
    left = len(leaving.control_left)
    if not (leaving.found or leaving.control_left):
        found.append(Reason(text="the cluster names no control host at all: it does not know what is on the machine"))
    if leaving.control and not left:
        found.append(Reason(code=None, text=f"{leaving.name} is the only control host: the cluster would end with it"))
    elif leaving.control and (left < SMALLEST or left % 2 == 0):
        text = f"{left} control host(s) would be left ({', '.join(leaving.control_left)}): "
        text += "they survive no loss" if left < SMALLEST else f"they survive no more losses than {left - 1} would"
        found.append(Reason(code="control-count", text=text))
    if leaving.volumes:
        listing = ", ".join(map(str, leaving.volumes))
        found.append(Reason(code="local-volumes", text=f"their data are on its disk and are lost with it: {listing}"))
    if leaving.bare:
        found.append(Reason(code="bare-pods", text=f"no controller makes them again: {', '.join(leaving.bare)}"))
    if leaving.pods and not leaving.others:
        found.append(Reason(code="last-node", text=f"no other node takes its {len(leaving.pods)} pod(s)"))
    return found


def refuse(leaving: LeavingNode, force: Collection[str]) -> None:
    """Raise GroundupError unless ``force`` accepts every reason against the removal."""
    against = reasons(leaving)
    elsewhere = all(reason.code for reason in against)
    consent.refuse(
        "remove", leaving.name, against, force, where=f"Node {leaving.name}",
        why="nothing brings back what is lost with it; nothing was changed",
        first="move it elsewhere first" if elsewhere else "join another control host first",
    )  # fmt: skip


def drain(api: Api, leaving: LeavingNode, *, timeout: float, say: Callable[[str], None], verb: str = "remove") -> None:
    """Cordon the node, evict its pods, and wait until they are gone.

    A node that is not Ready, or no longer is (one that just died counts as Ready for a while), cannot report the end
    of a pod: its pods go with the Node. Raises ApiError, and GroundupError with a line for each remaining pod.
    """
    if not leaving.found:
        return
    body = {"spec": {"unschedulable": True}}
    api.request("PATCH", f"{NODES}/{leaving.name}", body=body, content_type=_MERGE)
    blocked: dict[str, str] = {}

    def left() -> list[str]:
        blocked.clear()
        pods = _pods(api, leaving.name)
        for pod in pods:
            if why := _evict(api, pod):
                blocked[_key(pod)] = why
        return list(map(_key, pods))

    if not leaving.ready:
        left()
        return
    told: set[str] = set()

    def pending() -> list[str]:
        remaining = left()
        for pod, why in blocked.items():
            if pod not in told:
                say(f"{pod}: {why}")
                told.add(pod)
        if remaining and not is_ready(api.get(f"{NODES}/{leaving.name}")):
            say(f"{leaving.name} is not Ready any more: what is still on it goes with its Node")
            return []
        return remaining

    if remaining := wait_until(pending, timeout=timeout, pause=_PAUSE):
        lines = "\n    ".join(f"{pod}: {blocked.get(pod, 'is still ending')}" for pod in remaining)
        raise GroundupError(
            f"{len(remaining)} pod(s) are still on {leaving.name} after {timeout:.0f} s:\n    {lines}",
            where=f"Node {leaving.name}, which takes no new pods now",
            why="a node that goes with its pods takes them away from those who use them",
            remedy="make room for them (replicas, PodDisruptionBudget) and run this again, or give them more time: "
            f"-e {verb}_timeout=SECONDS. To keep the node: kubectl uncordon {leaving.name}",
        )


def delete(api: Api, leaving: LeavingNode) -> list[str]:
    """Delete the Node, then the claims and volumes on its disk; return what was deleted. Raises ApiError."""
    done = []
    if leaving.found:
        api.delete(f"{NODES}/{leaving.name}")
        done.append(f"Node {leaving.name}")
    for volume in leaving.volumes:
        if volume.claim:
            claim = resource_path("v1", "persistentvolumeclaims", namespace=volume.namespace, name=volume.claim)
            api.delete(claim, body={"preconditions": {"uid": volume.uid}})
        api.delete(f"{VOLUMES}/{volume.name}")
        done.append(f"volume claim {volume}" if volume.claim else str(volume))
    return done


def remains(api: Api, name: str, *, timeout: float) -> list[str]:
    """Wait until nothing of node ``name`` is left in the cluster; return what remains. Raises ApiError."""

    def pending() -> list[str]:
        found = survey(api, name)
        node = [f"Node {name}"] if found.found else []
        return [*node, *(f"pod {pod}" for pod in found.pods), *(f"volume {one.name}" for one in found.volumes)]

    return wait_until(pending, timeout=timeout, pause=_PAUSE)


def _pods(api: Api, node: str) -> list[Object]:
    """Return the pods to evict from ``node``: without DaemonSet pods, static pods and ended ones."""
    pods = api.get(resource_path("v1", "pods"), fieldSelector=f"spec.nodeName={node}")["items"]
    return [pod for pod in pods if not _stays(pod)]


def _stays(pod: Object) -> bool:
    meta = pod["metadata"]
    owners = {str(owner.get("kind")) for owner in meta.get("ownerReferences") or ()}
    ended = (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    return ended or bool(owners & {"DaemonSet", "Node"}) or _MIRROR in (meta.get("annotations") or {})


def _evict(api: Api, pod: Object) -> str:
    """Request the eviction of ``pod``; return why it is refused for now, "" when it is not."""
    meta = pod["metadata"]
    if meta.get("deletionTimestamp"):
        return ""
    path = resource_path("v1", "pods", namespace=meta["namespace"], name=meta["name"])
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
        "deleteOptions": {"preconditions": {"uid": meta["uid"]}},
    }
    try:
        api.request("POST", f"{path}/eviction", body=body)
    except ApiError as error:
        if error.status == 429:
            return error.message
        if error.status not in {404, 409}:  # it ended meanwhile, or another pod has its name
            raise
    return ""


def _key(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def is_control(node: Object) -> bool:
    return CONTROL in (node["metadata"].get("labels") or {})


def _address(node: Object) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(entry["address"]) for entry in addresses if entry["type"] == "InternalIP"), "")


def _takes_pods(node: Object) -> bool:
    spec = node.get("spec") or {}
    blocks = [taint for taint in spec.get("taints") or () if taint.get("effect") != "PreferNoSchedule"]
    return not spec.get("unschedulable") and not blocks


def _hosts(volume: Object) -> Sequence[str]:
    """Return the host names of the nodes that a volume is bound to."""
    terms = (((volume["spec"].get("nodeAffinity") or {}).get("required")) or {}).get("nodeSelectorTerms") or ()
    rules = [rule for term in terms for rule in term.get("matchExpressions") or () if rule.get("key") == _HOST]
    return [value for rule in rules if rule.get("operator") == "In" for value in rule.get("values") or ()]


def _volume(api: Api, item: Object) -> Volume:
    """Return the volume with its own claim: a claim recreated under the same name has its data elsewhere."""
    name, of = str(item["metadata"]["name"]), item["spec"].get("claimRef") or {}
    namespace, claim = str(of.get("namespace", "")), str(of.get("name", ""))
    directory = str((item["spec"].get("hostPath") or item["spec"].get("local") or {}).get("path", ""))
    found = None
    if claim:
        found = api.find(resource_path("v1", "persistentvolumeclaims", namespace=namespace, name=claim))
    if not found or found["spec"].get("volumeName") != name:
        return Volume(name=name, namespace=namespace, claim="", directory=directory)
    uid = str(found["metadata"]["uid"])
    return Volume(name=name, namespace=namespace, claim=claim, uid=uid, directory=directory)
