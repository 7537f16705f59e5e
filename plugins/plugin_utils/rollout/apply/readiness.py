"""Readiness of a release: which of its workloads run as now specified. Pure.

Running is not healthy: this only tells when it is worth verifying the service itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...helm.types import Rendered
from ...kube.types import Ref, ref_of
from ...kube.workloads import claims_of, pod_reason, unready
from .snapshot import ReleaseSnapshot

WORKLOADS = ("StatefulSet", "Deployment", "DaemonSet", "Job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Ready workloads, all workloads, and what the first unready one waits for."""

    ready: int
    total: int
    waiting_for: str = ""

    @property
    def complete(self) -> bool:
        """Return whether every workload is ready."""
        return self.ready == self.total


def readiness(rendered: Rendered, snapshot: ReleaseSnapshot, *, hooks_done: bool) -> Readiness:
    """Return a release's readiness. ``hooks_done``: Helm has returned, so its hook jobs no longer count."""
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
    return Readiness(ready=ready, total=len(wanted), waiting_for=first)


def workloads(rendered: Rendered, *, hooks: bool = True) -> list[Ref]:
    """Return the workloads of a release; jobs that Helm runs as hooks come last."""
    items = [*rendered.objects, *(rendered.hooks if hooks else ())]
    refs = [ref_of(item, namespace=rendered.namespace) for item in items if item.get("kind") in WORKLOADS]
    return list(dict.fromkeys(refs))


def _pod_reason(snapshot: ReleaseSnapshot, owner: Ref) -> str:
    for pod in snapshot.pods(owner):
        claim = next((ref.name for ref in claims_of(pod) if not _bound(snapshot, ref)), "")
        reason = f"waits for volume claim {claim}" if claim else pod_reason(pod)
        if reason:
            return f"{pod['metadata']['name']} {reason}"
    return ""


def _bound(snapshot: ReleaseSnapshot, claim: Ref) -> bool:
    return (snapshot.objects.get(claim, {}).get("status") or {}).get("phase") == "Bound"
