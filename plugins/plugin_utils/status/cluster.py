"""Rows of what the Kubernetes API says: nodes and releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..helm import records
from ..helm.types import LiveRelease
from ..kube.client import Api
from ..kube.nodes import NODES, not_ready
from ..kube.types import Object, ref_of, resource_path
from ..kube.workloads import unready
from ..layers import aside
from ..plan.chart_files import same_version
from ..plan.types import Plan, ReleasePlan
from ..rollout.gate import pairs
from ..upgrade.nodes import is_ours
from .rows import StatusRow, run_layer

_WORKLOADS = {"DaemonSet": "daemonsets", "Deployment": "deployments", "StatefulSet": "statefulsets"}
Workloads = Mapping[tuple[str, str, str], Object]  # kind, namespace, name


def nodes_of(api: Api) -> dict[str, Object]:
    """Return the cluster's nodes by name. Raises ApiError."""
    return {str(node["metadata"]["name"]): node for node in api.get(NODES)["items"]}


def node_rows(plan: Plan, nodes: Mapping[str, Object]) -> list[StatusRow]:
    """Return one row a node of the site, and one for each that the site file does not have."""
    ours = [name for name, host in plan.hosts.items() if host.node_labels]
    reasons = not_ready(nodes, ours)
    others = sorted(set(nodes) - set(plan.hosts))
    return [
        *(_node(name, nodes.get(name), reasons.get(name, "")) for name in ours),
        *(
            StatusRow(
                name=name,
                state="warning",
                what="a node of the cluster, and no host of the site file",
                remedy=aside.removal(name),
                facts=_facts(nodes[name]),
            )
            for name in others
        ),
    ]


def _node(name: str, node: Object | None, reason: str) -> StatusRow:
    if node is None:
        return StatusRow(name=name, state="not made", what="no node yet", remedy=run_layer("kubernetes"))
    facts = _facts(node)
    if reason:
        look = "on the host: journalctl -n 50 -u kubelet -u containerd"
        return StatusRow(name=name, state="broken", what=f"not Ready: {reason}", remedy=look, facts=facts)
    if facts["cordoned"]:
        what = f"{facts['version']}, cordoned: no new pod comes to it"
        remedy = run_layer("kubernetes_upgrade") if is_ours(node) else f"kubectl uncordon {name}"
        return StatusRow(name=name, state="warning", what=what, remedy=remedy, facts=facts)
    return StatusRow(name=name, state="ok", what=facts["version"], facts=facts)


def _facts(node: Object) -> dict[str, Any]:
    return {"version": version(node), "cordoned": bool((node.get("spec") or {}).get("unschedulable"))}


def version(node: Object) -> str:
    """Return the version of a node's kubelet."""
    return str(((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion", ""))


def release_rows(plan: Plan, api: Api) -> list[StatusRow]:
    """Return one row a release: pods that are ready, version of chart and program. Raises ApiError."""
    wanted = [
        *(("kubernetes", one) for one in plan.kubernetes.cni.releases),
        *(("storage", one) for one in plan.kubernetes.storage_releases),
        *(("openstack", one) for one in plan.openstack.releases),
    ]
    live = records.read(api, {one.namespace for _, one in wanted})
    there = {
        (kind, str(item["metadata"]["namespace"]), str(item["metadata"]["name"])): {"kind": kind, **item}
        for kind, plural in (_WORKLOADS.items() if live else ())
        for item in api.get(resource_path("apps/v1", plural)).get("items") or ()
    }
    return [release_row(layer, one, live.get((one.namespace, one.name)), there) for layer, one in wanted]


def release_row(layer: str, wanted: ReleasePlan, live: LiveRelease | None, there: Workloads) -> StatusRow:
    """Return the row of one release, whose layer's verification asks for the same workloads."""
    if live is None:
        facts = {"layer": layer}
        return StatusRow(name=wanted.name, state="not made", what="not made yet", remedy=run_layer(layer), facts=facts)
    refs = [ref_of(item, namespace=live.namespace) for item in live.objects if item.get("kind") in _WORKLOADS]
    found = {str(ref): there.get((ref.kind, ref.namespace, ref.name)) for ref in refs}
    waits = {name: unready(item) if item else "it is gone" for name, item in found.items()}
    faults = [live.status] if live.status != "deployed" else []
    faults += [f"{name}: {why}" for name, why in waits.items() if why]
    pods = [_pods(item) for item in found.values() if item]
    ready, of = sum(one for one, _ in pods), sum(one for _, one in pods)
    what = f"{ready}/{of} pods, {live.chart} {live.chart_version}, {(runs := _runs(live)) or '-'}"
    older = not same_version(live.chart_version, wanted.version)
    return StatusRow(
        name=wanted.name,
        state="broken" if faults else "warning" if older else "ok",
        what="; ".join([*faults, what, *([f"the site's chart is {wanted.version}"] if older else [])]),
        remedy=run_layer(layer) if faults or older else "",
        facts={
            "layer": layer, "namespace": live.namespace, "status": live.status, "revision": live.revision,
            "ready": ready, "of": of, "chart": live.chart, "chart_version": live.chart_version,
            "app_version": runs,
        },
    )  # fmt: skip


def _runs(live: LiveRelease) -> str:
    """Return the version of what the chart installs: by its images, as charts of two OpenStack releases can be one."""
    found = pairs.releases(live.objects) if live.app_version in pairs.STEPS else ()
    return ", ".join(sorted(found)) or live.app_version


def _pods(item: Object) -> tuple[int, int]:
    """Return ready and wanted pods of a workload."""
    status = item.get("status") or {}
    if item["kind"] == "DaemonSet":
        return int(status.get("numberReady", 0)), int(status.get("desiredNumberScheduled", 0))
    return int(status.get("readyReplicas", 0)), int((item.get("spec") or {}).get("replicas", 1))
