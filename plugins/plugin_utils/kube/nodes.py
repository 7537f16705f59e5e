"""Label and taint nodes, and wait until they are Ready."""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.wait import wait_until
from ...module_utils._kubeadm.spec import taint
from ..errors import GroundupError
from . import run_lease
from .access import keep_nodes, kubeconfig_path
from .client import Api
from .types import Object, resource_path
from .workloads import conditions, is_ready

NODES = resource_path("v1", "nodes")
_MERGE = "application/merge-patch+json"
TIMEOUT = 180.0  # seconds until nodes are registered, and then until they are Ready
CONTROL = "node-role.kubernetes.io/control-plane"
CONTROL_LABELS = {
    CONTROL: "",
    "node.kubernetes.io/exclude-from-external-load-balancers": "",
}
# Annotation with the labels and taints that the site wrote last: dropped ones are removed, others' stay.
OWNED = "groundup.cloud/owned"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNodes:
    """The cluster's nodes, and their differences from the site's."""

    names: frozenset[str]
    away: Mapping[str, str]  # not Ready and tolerated -> the kubelet's reason
    leftover: Mapping[str, bool]  # unknown to the site -> whether it is Ready


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedNode:
    """Labels and taints of one node in the plan."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[str, ...]


def wanted(host: Mapping[str, Any]) -> WantedNode:
    """Return the labels and taints of a host's node from its plan (``groundup_host``)."""
    control = CONTROL_LABELS if "control" in host["roles"] else {}
    return WantedNode(name=host["name"], labels={**host["node_labels"], **control}, taints=tuple(host["node_taints"]))


def patch(node: Mapping[str, Any], want: WantedNode) -> dict[str, Any] | None:
    """Return the merge patch from ``node`` to ``want``, None when nothing differs."""
    meta = node["metadata"]
    owned = json.loads(meta.get("annotations", {}).get(OWNED, '{"labels": [], "taints": []}'))
    labels: dict[str, str | None] = {
        key: value for key, value in want.labels.items() if meta.get("labels", {}).get(key) != value
    }
    labels |= {key: None for key in owned["labels"] if key not in want.labels and key in meta.get("labels", {})}
    ours = [taint(text) for text in want.taints]
    names = {(t["key"], t["effect"]) for t in ours} | {tuple(pair) for pair in owned["taints"]}
    # kubeadm taints control hosts by itself; the plan decides whether they stay tainted.
    names.add(("node-role.kubernetes.io/control-plane", "NoSchedule"))
    present = node.get("spec", {}).get("taints", [])
    taints = [t for t in present if (t["key"], t["effect"]) not in names] + ours
    change: dict[str, Any] = {}
    if _plain(taints) != _plain(present):
        change["spec"] = {"taints": taints}
    mark = json.dumps({"labels": sorted(want.labels), "taints": sorted([t["key"], t["effect"]] for t in ours)})
    if labels or meta.get("annotations", {}).get(OWNED) != mark:
        change["metadata"] = {"labels": labels, "annotations": {OWNED: mark}}
    return change or None


def _plain(taints: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    return sorted((t["key"], t.get("value", ""), t["effect"]) for t in taints)


def label(
    site: str, hosts: Collection[Mapping[str, Any]], changes: Changes, *, known: Container[str] = ()
) -> SeenNodes | None:
    """Label and taint the nodes of ``hosts`` (``groundup_host``), wait until they are Ready, and release the lease.

    Returns the nodes; None in a dry run. ``known``: names of the site's other nodes. Raises GroundupError for control
    hosts that are not Ready in time; ApiError.
    """
    wants, kubeconfig = [wanted(host) for host in hosts], kubeconfig_path(site)
    if changes.check and not kubeconfig.is_file():
        for want in wants:
            _add(changes, want.name, new(want))
        return None
    api, spare = Api(kubeconfig), {host["name"] for host in hosts if "control" not in host["roles"]}
    converge(api, wants, changes, timeout=TIMEOUT, spare=spare)
    if changes.check:
        return None
    seen = wait_ready(api, [want.name for want in wants], timeout=TIMEOUT, spare=spare, known=known)
    keep_nodes(site, seen.names)
    run_lease.release(api)  # the last step that changes control hosts or the set of nodes
    return seen


def converge(
    api: Api, wants: Iterable[WantedNode], changes: Changes, *, timeout: float, spare: Container[str] = ()
) -> None:
    """Label and taint the nodes, or predict it, and record the changes.

    Wait up to ``timeout`` seconds for registration: a kubelet registers its node a little after the join.
    Raises GroundupError naming the nodes that do not register, except those of ``spare``; ApiError.
    """
    wants = tuple(wants)
    if not changes.check:
        _wait_registered(api, {want.name for want in wants}, timeout=timeout, spare=spare)
    found = _nodes(api)
    for want in wants:
        if want.name not in found and not changes.check:
            continue
        # In a dry run a missing node may be one that would join.
        change = patch(found[want.name], want) if want.name in found else new(want)
        if change and _add(changes, want.name, change):
            api.request("PATCH", f"{NODES}/{want.name}", body=change, content_type=_MERGE)


def _add(changes: Changes, name: str, change: Mapping[str, Any]) -> bool:
    return changes.add(said(name, change), name=name, after=json.dumps(change, indent=2) + "\n")


def said(name: str, change: Mapping[str, Any]) -> str:
    """Return in one line what a merge patch of a node changes."""
    labels = sorted(change.get("metadata", {}).get("labels", ()))
    parts = [f"label {', '.join(labels)}"] if labels else []
    parts += ["taints"] if "spec" in change else []
    return f"Node/{name}: {', '.join(parts) or f'annotation {OWNED}'}"


def new(want: WantedNode) -> dict[str, Any]:
    """Return the merge patch of a node that does not exist yet."""
    return {"metadata": {"labels": dict(want.labels)}}


def _nodes(api: Api) -> dict[str, Object]:
    return {node["metadata"]["name"]: node for node in api.get(NODES)["items"]}


def _wait_registered(api: Api, names: set[str], *, timeout: float, spare: Container[str]) -> None:
    missing = wait_until(lambda: sorted(names - _nodes(api).keys()), timeout=timeout, pause=0.3)
    if missing := [name for name in missing if name not in spare]:
        raise GroundupError(
            f"not registered after {timeout:.0f} s: {', '.join(missing)}",
            where=f"the cluster's nodes: {', '.join(sorted(_nodes(api))) or 'none'}",
            why="a host that joined shows as a node once its kubelet runs",
            remedy="see journalctl -u kubelet on the host",
        )


def not_ready(nodes: Mapping[str, Object], names: Iterable[str]) -> dict[str, str]:
    """Return the nodes of ``names`` that are not Ready, each with its kubelet's reason."""
    reasons = {name: "it is not registered" for name in names if name not in nodes}
    for name in set(names) & nodes.keys():
        if not is_ready(nodes[name]):
            said = [entry.get("message", "") for entry in conditions(nodes[name]) if entry["type"] == "Ready"]
            reasons[name] = said[0] if said else "its kubelet has not reported yet"
    return reasons


def wait_ready(
    api: Api, names: Iterable[str], *, timeout: float, spare: Container[str] = (), known: Container[str] = ()
) -> SeenNodes:
    """Wait until the nodes ``names`` are Ready; return those of ``spare`` that are not, and unknown nodes.

    Raises GroundupError with the reason of each other node that is not Ready; ApiError.
    """
    names, nodes = tuple(names), dict[str, Object]()

    def pending() -> dict[str, str]:
        nodes.clear()
        nodes.update(_nodes(api))
        return not_ready(nodes, names)

    reasons = wait_until(pending, timeout=timeout)
    if needed := {name: why for name, why in reasons.items() if name not in spare}:
        listing = "; ".join(f"{name}: {why}" for name, why in sorted(needed.items()))
        raise GroundupError(
            f"nodes not Ready after {timeout:.0f} s: {listing}",
            where="the cluster's nodes",
            why="no layer above starts on a node that is not Ready",
            remedy="kubectl describe node NAME; journalctl -u kubelet -u containerd on the host",
        )
    leftover = {name: is_ready(node) for name, node in nodes.items() if name not in names and name not in known}
    return SeenNodes(names=frozenset(nodes), away=reasons, leftover=leftover)
