"""Conditions, images and owners of Kubernetes objects; why a pod or workload is not ready. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .types import Object, Ref

PULL_REASONS = ("ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "RegistryUnavailable")
CRASHED = "CrashLoopBackOff"  # why a container waits whose last run failed
_OWNERS = ("Job", "StatefulSet", "DaemonSet", "ReplicaSet")


def condition(item: Mapping[str, Any], kind: str) -> str:
    """Return the status of a condition: "True", "False" or "Unknown"; "" when the object has none of that kind."""
    return str(next((entry["status"] for entry in conditions(item) if entry.get("type") == kind), ""))


def conditions(item: Mapping[str, Any]) -> list[Object]:
    return list((item.get("status") or {}).get("conditions") or ())


def is_ready(item: Mapping[str, Any]) -> bool:
    """Return whether a node or pod is Ready."""
    return condition(item, "Ready") == "True"


def owner_of(pod: Object) -> Ref | None:
    """Return the workload of a pod; of a ReplicaSet its Deployment: its name without the pod template's hash."""
    meta = pod.get("metadata") or {}
    namespace = str(meta.get("namespace", ""))
    for owner in meta.get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") in _OWNERS:
            name = str(owner["name"])
            if owner["kind"] == "ReplicaSet":
                suffix = f"-{(meta.get('labels') or {}).get('pod-template-hash', '')}"
                return Ref("Deployment", namespace, name.removesuffix(suffix))
            return Ref(str(owner["kind"]), namespace, name)
    return None


def serving(pods: Iterable[Object]) -> list[Object]:
    """Return those of ``pods`` that serve, with their kind: none that ends, or is of a job, maybe a former one."""
    return [
        {**pod, "kind": "Pod"}
        for pod in pods
        if not pod["metadata"].get("deletionTimestamp") and ((owner := owner_of(pod)) is None or owner.kind != "Job")
    ]


def pod_spec(item: Object) -> Object:
    """Return the pod specification inside any kind of workload, ``{}`` for other objects."""
    spec = item.get("spec") or {}
    if item.get("kind") == "Pod":
        return dict(spec)
    if item.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    template = spec.get("template") if isinstance(spec, dict) else None
    return dict((template or {}).get("spec") or {}) if isinstance(template, dict) else {}


def images(item: Object) -> tuple[str, ...]:
    """Return every image an object's pods run, init containers included."""
    spec = pod_spec(item)
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return tuple(dict.fromkeys(str(container.get("image", "")) for container in containers))


def node_ports(service: Object) -> tuple[int, ...]:
    """Return the node ports that a Service has or requests."""
    ports = (service.get("spec") or {}).get("ports") or ()
    return tuple(port["nodePort"] for port in ports if port.get("nodePort"))


def claims_of(pod: Object) -> list[Ref]:
    """Return the volume claims a pod uses."""
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    names = [str((volume.get("persistentVolumeClaim") or {}).get("claimName") or "") for volume in volumes]
    return [Ref("PersistentVolumeClaim", str(pod["metadata"].get("namespace", "")), name) for name in names if name]


def container_statuses(pod: Object) -> list[Object]:
    """Return the statuses of a pod's containers, init containers first."""
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def waits_for_image(pod: Object) -> bool:
    """Return whether a container of ``pod`` cannot start because its image cannot be pulled."""
    return any(waiting_reason(entry) in PULL_REASONS for entry in container_statuses(pod))


def waiting_reason(entry: Object) -> str:
    """Return why a container waits, "" when it does not."""
    return str(((entry.get("state") or {}).get("waiting") or {}).get("reason", ""))


def waits_after_crash(pod: Object) -> bool:
    """Return whether a container of ``pod`` waits for its next run, as its last one failed."""
    return any(waiting_reason(entry) == CRASHED for entry in container_statuses(pod))


def failed(job: Object) -> bool:
    """Return whether ``job`` failed: it has run as often as it may, and never runs again."""
    return condition(job, "Failed") == "True"


def runs(pod: Object) -> bool:
    """Return whether a container of ``pod`` runs."""
    return any("running" in (entry.get("state") or {}) for entry in container_statuses(pod))


def unready(item: Object) -> str:
    """Return why a workload is not ready, ``""`` when it is."""
    kind, spec, status = item.get("kind"), item.get("spec") or {}, item.get("status") or {}
    if kind == "Job":
        return "" if condition(item, "Complete") == "True" else f"{status.get('failed', 0)} failed runs"
    if status.get("observedGeneration", 0) < (item.get("metadata") or {}).get("generation", 0):
        return "its controller has not seen the change yet"
    if kind == "DaemonSet":
        wanted = status.get("desiredNumberScheduled", 0)
        on_delete = (spec.get("updateStrategy") or {}).get("type") == "OnDelete"
        updated = wanted if on_delete else status.get("updatedNumberScheduled", 0)
        return _counts(wanted, updated, status.get("numberReady", 0))
    wanted = spec.get("replicas", 1)
    if kind == "Deployment":
        counts = _counts(wanted, status.get("updatedReplicas", 0), status.get("availableReplicas", 0))
        surplus = status.get("replicas", 0) - status.get("updatedReplicas", 0)
        return counts or (f"{surplus} pods of the old version still run" if surplus > 0 else "")
    on_delete = (spec.get("updateStrategy") or {}).get("type") == "OnDelete"
    current = status.get("currentRevision") == status.get("updateRevision")
    updated = wanted if on_delete or current else status.get("updatedReplicas", 0)
    return _counts(wanted, updated, status.get("readyReplicas", 0))


def _counts(wanted: int, updated: int, ready: int) -> str:
    if updated < wanted:
        return f"{updated} of {wanted} pods have the new version"
    return f"{ready} of {wanted} pods ready" if ready < wanted else ""


def pod_reason(pod: Object) -> str:
    """Return in a few words what a pod waits for, ``""`` when it is ready or done."""
    status = pod.get("status") or {}
    if status.get("phase") == "Succeeded" or is_ready(pod):
        return ""
    inits = status.get("initContainerStatuses") or ()
    todo = [e for e in inits if ((e.get("state") or {}).get("terminated") or {}).get("exitCode") != 0]
    if todo:
        return f"init {len(inits) - len(todo)}/{len(inits)} {todo[0]['name']}{_detail(todo[0])}"
    for entry in status.get("containerStatuses") or ():
        if not entry.get("ready"):
            return f"{entry['name']}{_detail(entry)}"
    if condition(pod, "PodScheduled") == "False":
        return "has no node"
    return str(status.get("reason") or status.get("phase") or "Pending")


def _detail(entry: Object) -> str:
    state = entry.get("state") or {}
    if "waiting" in state:
        return f" {state['waiting'].get('reason', 'waiting')}"
    if "terminated" in state:
        return f" ended with {state['terminated'].get('exitCode')}"
    return " is running" if "running" in state else ""
