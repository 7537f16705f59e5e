"""Labels and taints of nodes, and waiting until they are Ready."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils._kubeadm.api import MERGE, Api
from ...module_utils._kubeadm.spec import taint
from ..errors import GroundupError

CONTROL_LABELS = {
    "node-role.kubernetes.io/control-plane": "",
    "node.kubernetes.io/exclude-from-external-load-balancers": "",
}
# Which labels and taints are the site's: those it wrote last. One it drops is taken off, others' are left alone.
OWNED = "groundup.cloud/owned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the plan says of one node."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[str, ...]


def wanted(host: Mapping[str, Any]) -> Wanted:
    """Return what the plan's host (``groundup_host``) says of its node."""
    control = CONTROL_LABELS if "control" in host["roles"] else {}
    return Wanted(name=host["name"], labels={**host["node_labels"], **control}, taints=tuple(host["node_taints"]))


def patch(node: Mapping[str, Any], want: Wanted) -> dict[str, Any] | None:
    """Return the merge patch that brings ``node`` to ``want``, None when it is there."""
    meta = node["metadata"]
    owned = json.loads(meta.get("annotations", {}).get(OWNED, '{"labels": [], "taints": []}'))
    labels: dict[str, str | None] = {
        key: value for key, value in want.labels.items() if meta.get("labels", {}).get(key) != value
    }
    labels |= {key: None for key in owned["labels"] if key not in want.labels and key in meta.get("labels", {})}
    ours = [taint(text) for text in want.taints]
    names = {(t["key"], t["effect"]) for t in ours} | {tuple(pair) for pair in owned["taints"]}
    # kubeadm puts its own taint on a control host that is not told otherwise: the plan's word counts.
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


def converge(
    api: Api, wants: tuple[Wanted, ...], *, check: bool, timeout: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Label and taint the nodes; yield name and patch of each that differed.

    A kubelet registers its node a little after the join: up to ``timeout`` seconds are given to it.
    Raises GroundupError naming the nodes that do not register, ApiError.
    """
    found = _registered(api, {want.name for want in wants}, timeout=0.0 if check else timeout)
    for want in wants:
        if want.name not in found:  # only in check mode: it would have joined
            yield want.name, {"metadata": {"labels": dict(want.labels)}}
            continue
        change = patch(found[want.name], want)
        if change:
            if not check:
                api.request("PATCH", f"/api/v1/nodes/{want.name}", change, content_type=MERGE)
            yield want.name, change


def _registered(api: Api, names: set[str], *, timeout: float) -> dict[str, Any]:
    until = time.monotonic() + timeout
    while True:
        found = {node["metadata"]["name"]: node for node in api.request("GET", "/api/v1/nodes")["items"]}
        missing = sorted(names - found.keys())
        if not missing or not timeout:
            return found
        if time.monotonic() > until:
            raise GroundupError(
                f"not registered after {timeout:.0f} s: {', '.join(missing)}",
                where=f"the cluster's nodes: {', '.join(sorted(found)) or 'none'}",
                why="a host that joined shows as a node once its kubelet runs",
                remedy="see journalctl -u kubelet on the host",
            )
        time.sleep(0.3)


def not_ready(nodes: list[dict[str, Any]]) -> dict[str, str]:
    """Return the nodes that are not Ready, each with the reason its kubelet gives."""
    reasons = {}
    for node in nodes:
        ready = next((c for c in node.get("status", {}).get("conditions", []) if c["type"] == "Ready"), None)
        if ready is None or ready["status"] != "True":
            message = ready.get("message", "") if ready else "its kubelet has not reported yet"
            reasons[node["metadata"]["name"]] = message
    return reasons


def wait_ready(api: Api, names: set[str], *, timeout: float) -> None:
    """Wait until the nodes ``names`` are Ready. Raises GroundupError with each node's own reason, ApiError."""
    until = time.monotonic() + timeout
    while True:
        items = api.request("GET", "/api/v1/nodes")["items"]
        present = {node["metadata"]["name"] for node in items}
        reasons = {name: why for name, why in not_ready(items).items() if name in names}
        reasons |= dict.fromkeys(names - present, "it is not registered")
        if not reasons:
            return
        if time.monotonic() > until:
            listing = "; ".join(f"{name}: {why}" for name, why in sorted(reasons.items()))
            raise GroundupError(
                f"not Ready after {timeout:.0f} s: {listing}",
                where="the cluster's nodes",
                why="no layer above starts on a node that is not Ready",
                remedy="kubectl describe node NAME; journalctl -u kubelet -u containerd on the host",
            )
        time.sleep(0.5)
