"""How far a release is: which of its workloads run as they are now specified. Pure.

Running is not healthy (H6): this says when it is worth asking the service itself, no more.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..types import Object, Ref, Rendered, ref_of
from .snapshot import Snapshot, condition

WORKLOADS = ("StatefulSet", "Deployment", "DaemonSet", "Job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Workloads that are ready, of how many, and what the first unready one waits for."""

    ready: int
    total: int
    waiting_for: str = ""

    @property
    def complete(self) -> bool:
        """Return whether every workload is ready."""
        return self.ready == self.total


def progress(rendered: Rendered, snapshot: Snapshot, *, hooks_done: bool) -> Progress:
    """Return how far a release is. ``hooks_done``: Helm has returned, so its hook jobs no longer count."""
    wanted = workloads(rendered, hooks=not hooks_done)
    waiting: list[tuple[int, str]] = []
    ready = 0
    for ref in wanted:
        item = snapshot.objects.get(ref)
        reason = "not created yet" if item is None else unready(item)
        if not reason:
            ready += 1
        else:
            # Pods wait for jobs, so a job under way is what everything waits for.
            rank = 2 if item is None else 0 if ref.kind == "Job" else 1
            waiting.append((rank, f"{ref}: {_pod_reason(snapshot, ref) or reason}"))
    first = min(waiting, key=lambda entry: entry[0])[1] if waiting else ""
    return Progress(ready=ready, total=len(wanted), waiting_for=first)


def workloads(rendered: Rendered, *, hooks: bool = True) -> list[Ref]:
    """Return the workloads of a release; jobs that Helm runs as hooks come last."""
    items = [*rendered.objects, *(rendered.hooks if hooks else ())]
    refs = [ref_of(item, namespace=rendered.namespace) for item in items if item.get("kind") in WORKLOADS]
    return list(dict.fromkeys(refs))


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


def _pod_reason(snapshot: Snapshot, owner: Ref) -> str:
    for pod in snapshot.pods(owner):
        reason = pod_reason(pod)
        claim = _unbound(snapshot, pod)
        if claim:
            return f"{pod['metadata']['name']} waits for volume claim {claim}"
        if reason:
            return f"{pod['metadata']['name']} {reason}"
    return ""


def _unbound(snapshot: Snapshot, pod: Object) -> str:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if name:
            claim = snapshot.objects.get(Ref("PersistentVolumeClaim", pod["metadata"]["namespace"], str(name)))
            if claim is None or (claim.get("status") or {}).get("phase") != "Bound":
                return str(name)
    return ""


def pod_reason(pod: Object) -> str:
    """Return in a few words what a pod waits for, ``""`` when it is ready or done."""
    status = pod.get("status") or {}
    if status.get("phase") == "Succeeded" or condition(pod, "Ready") == "True":
        return ""
    inits = status.get("initContainerStatuses") or ()
    done = sum(1 for entry in inits if ((entry.get("state") or {}).get("terminated") or {}).get("exitCode") == 0)
    for entry in inits:
        if ((entry.get("state") or {}).get("terminated") or {}).get("exitCode") == 0:
            continue
        return f"init {done}/{len(inits)} {entry['name']}{_detail(entry)}"
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
