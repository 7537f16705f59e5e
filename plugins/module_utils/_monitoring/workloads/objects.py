"""What objects of Kubernetes say of themselves, under the names of kube-state-metrics where it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from ..host_metrics.samples import Sample

Object = dict[str, Any]
NODES_OUT = "groundup_nodes_not_ready"
CRON_FAILED = "groundup_cronjob_failed"  # of kube-state-metrics, rules would have to find the newest Job


def _deployments(items: Iterable[Object]) -> Iterator[Sample]:
    for one in items:
        labels = _labels(one, "deployment")
        yield Sample("kube_deployment_spec_replicas", one["spec"]["replicas"], labels)
        available = one.get("status", {}).get("availableReplicas", 0)
        yield Sample("kube_deployment_status_replicas_available", available, labels)


def _stateful_sets(items: Iterable[Object]) -> Iterator[Sample]:
    for one in items:
        labels = _labels(one, "statefulset")
        yield Sample("kube_statefulset_replicas", one["spec"]["replicas"], labels)
        yield Sample("kube_statefulset_status_replicas_ready", one.get("status", {}).get("readyReplicas", 0), labels)


def _daemon_sets(items: Iterable[Object]) -> Iterator[Sample]:
    for one in items:
        labels, status = _labels(one, "daemonset"), one.get("status", {})
        wanted = status.get("desiredNumberScheduled", 0)
        yield Sample("kube_daemonset_status_desired_number_scheduled", wanted, labels)
        yield Sample("kube_daemonset_status_number_available", status.get("numberAvailable", 0), labels)


def _jobs(items: Iterable[Object]) -> Iterator[Sample]:
    """Yield of each CronJob whether the newest Job of it that has ended failed."""
    newest: dict[tuple[str, str], tuple[str, bool]] = {}
    for one in items:
        known = one["metadata"]
        ended = {said["type"] for said in one.get("status", {}).get("conditions", ()) if said["status"] == "True"}
        if not ended & {"Complete", "Failed"}:
            continue
        for owner in known.get("ownerReferences", ()):
            if owner["kind"] == "CronJob":
                job = known["namespace"], owner["name"]
                newest[job] = max(newest.get(job, ("", False)), (known["creationTimestamp"], "Failed" in ended))
    for (namespace, name), (_, failed) in newest.items():
        yield Sample(CRON_FAILED, failed, {"namespace": namespace, "cronjob": name})


def _pods(items: Iterable[Object]) -> Iterator[Sample]:
    for one in items:
        labels, status = _labels(one, "pod"), one.get("status", {})
        if at := one["metadata"].get("deletionTimestamp"):  # when it was to have ended
            yield Sample("kube_pod_deletion_timestamp", datetime.fromisoformat(at).timestamp(), labels)
            continue
        placed = [said for said in status.get("conditions", ()) if said["type"] == "PodScheduled"]
        if any(said["status"] == "False" and said.get("reason") == "Unschedulable" for said in placed):
            yield Sample("kube_pod_status_unschedulable", 1, labels)
        for kind, name in (
            ("initContainerStatuses", "kube_pod_init_container"),
            ("containerStatuses", "kube_pod_container"),
        ):
            for container in status.get(kind, ()):
                own = labels | {"container": container["name"]}
                yield Sample(f"{name}_status_restarts_total", container["restartCount"], own)
                if reason := container.get("state", {}).get("waiting", {}).get("reason"):
                    yield Sample(f"{name}_status_waiting_reason", 1, own | {"reason": reason})


def _nodes(items: Iterable[Object]) -> Iterator[Sample]:
    """Yield the number of nodes that are not Ready: each node tells of itself, but not when it is lost."""
    said = [one.get("status", {}).get("conditions", ()) for one in items]
    yield Sample(
        NODES_OUT, sum(not any(at["type"] == "Ready" and at["status"] == "True" for at in one) for one in said)
    )


def _labels(one: Object, kind: str) -> dict[str, str]:
    return {"namespace": one["metadata"]["namespace"], kind: one["metadata"]["name"]}


KINDS: dict[str, Callable[[Iterable[Object]], Iterator[Sample]]] = {
    "/apis/apps/v1/deployments": _deployments,
    "/apis/apps/v1/statefulsets": _stateful_sets,
    "/apis/apps/v1/daemonsets": _daemon_sets,
    "/apis/batch/v1/jobs": _jobs,
    "/api/v1/nodes": _nodes,
    "/api/v1/pods": _pods,
}
