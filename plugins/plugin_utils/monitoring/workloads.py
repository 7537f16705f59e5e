"""Alerts of what Kubernetes runs: workloads without pods, pods that do not start or end, CronJobs that fail."""

from __future__ import annotations

from collections.abc import Callable

from ...module_utils._monitoring.workloads.objects import CRON_FAILED, NODES_OUT
from ...module_utils._monitoring.workloads.program import LOOKED
from ..plan.types import Plan
from .record import AlertRecord, last

_WORKLOADS = {  # label -> kind, pods that there should be, pods that serve
    "deployment": ("Deployment", "kube_deployment_spec_replicas", "kube_deployment_status_replicas_available"),
    "statefulset": ("StatefulSet", "kube_statefulset_replicas", "kube_statefulset_status_replicas_ready"),
    "daemonset": (
        "DaemonSet", "kube_daemonset_status_desired_number_scheduled", "kube_daemonset_status_number_available",
    ),
}  # fmt: skip
_NO_NODE_OUT = f"unless on () max({NODES_OUT}) > 0"  # of what a node takes with it, NodeNotReady or HostDown tells
_CRASHES = "CrashLoopBackOff"
_NOT_STARTING = f'reason!~"{_CRASHES}|ContainerCreating|PodInitializing"'
_PULLS = '"reason", "ImagePullBackOff", "reason", "ErrImagePull"'


def _workloads(serving: str) -> str:
    """Return workloads of which a number of pods serves as in ``serving``, and more should."""
    found = []
    for label, (kind, wanted, there) in _WORKLOADS.items():
        by = f"max by (namespace, {label})"
        object_ = f'label_join(({by} ({there}) {serving}) < {by} ({wanted}), "object", "/", "namespace", "{label}")'
        found.append(f'label_replace({object_}, "object", "{kind} $1", "object", "(.+)")')
    return " or ".join(found)


def _of_containers(asked: Callable[[str], str], *labels: str) -> str:
    """Return what is ``asked`` of containers and init containers by the beginning of their metrics' names."""
    both = " or ".join(asked(f"kube_pod_{kind}container") for kind in ("", "init_"))
    return f"max by ({', '.join(('namespace', 'pod', 'container', *labels))}) ({both})"


def _waited(one: str, only: str) -> str:
    """Return containers that have waited within five minutes, and are still there."""
    there = f"on (namespace, pod, container) {one}_status_restarts_total"
    return f"(max_over_time({one}_status_waiting_reason{{{only}}}[5m]) and {there})"


def _pods(expr: str, name: str = "pod") -> str:
    return f'label_join({expr}, "object", "/", "namespace", "{name}")'


def _unasked(plan: Plan) -> str:
    there = plan.monitoring and plan.monitoring.host in plan.hosts
    return f"time() - {last(LOOKED, plan)} > 300" if there else ""


def _record(*, what: str, why: str, remedy: str, expr: str, after: str, critical: bool = False) -> AlertRecord:
    return AlertRecord(
        layer="kubernetes", by_namespace=True, job="api-server", severity="critical" if critical else "warning",
        after=after, expr=expr, what=what, why=why, remedy=remedy,
    )  # fmt: skip


WORKLOADS: dict[str, AlertRecord] = {
    "WorkloadDown": _record(
        critical=True, after="3m", expr=_workloads("== 0"),
        what="no pod of {object} serves",
        why="what it does is not done",
        remedy="kubectl -n {namespace} get pods, then describe and logs of one that is not ready; "
        "groundup.cloud.status names what it waits for",
    ),
    "WorkloadShort": _record(
        after="10m", expr=f"({_workloads('> 0')}) {_NO_NODE_OUT}",
        what="{object} has fewer pods that serve than it should",
        why="it bears less, or one loss less",
        remedy="kubectl -n {namespace} get pods, then describe and logs of one that is not ready",
    ),
    "PodStuck": _record(
        # One whose image is pulled again and again has two reasons by turns.
        after="5m", expr=_pods(_of_containers(
            lambda one: f"label_replace({_waited(one, _NOT_STARTING)}, {_PULLS})", "reason",
        )),
        what="{container} of pod {object} does not run: {reason}",
        why="the pod does not do its work, and no new one takes its place",
        remedy="kubectl -n {namespace} describe pod; an image that is not there comes with groundup.cloud.seed",
    ),
    "PodCrashes": _record(
        # While it runs for a moment, and just after, it does not say that it waits.
        after="3m", expr=_pods(_of_containers(
            lambda one: f"""{_waited(one, f'reason="{_CRASHES}"')} or """
            f"{one}_status_restarts_total - min_over_time({one}_status_restarts_total[10m]) > 2",
        )),
        what="{container} of pod {object} ends and starts again and again",
        why="the pod does not do its work, or loses it each time",
        remedy="kubectl -n {namespace} logs --previous, of that container, and describe pod",
    ),
    "PodUnscheduled": _record(
        after="5m", expr=_pods("max by (namespace, pod) (kube_pod_status_unschedulable) == 1"),
        what="no node takes pod {object}",
        why="it starts nowhere: nodes lack room, a label, or what it must be near to",
        remedy="kubectl -n {namespace} describe pod names what each node lacks; a node that was drained takes pods "
        "again after groundup.cloud.undrain",
    ),
    "PodNotEnding": _record(
        after="5m",
        expr=f"{_pods('time() - max by (namespace, pod) (kube_pod_deletion_timestamp) > 600')} {_NO_NODE_OUT}",
        what="pod {object} was to end ten minutes ago, and has not",
        why="the next member of a StatefulSet does not start before it has ended; its volumes stay with it",
        remedy="kubectl -n {namespace} describe pod; on its node: journalctl -n 50 -u kubelet; look for a volume or a "
        "process that hangs",
    ),
    "CronJobFails": _record(
        after="5m", expr=_pods(f"max by (namespace, cronjob) ({CRON_FAILED}) == 1", "cronjob"),
        what="the newest run of CronJob {object} failed",
        why="what it does from time to time is not done: keys are not rotated, old rows not removed",
        remedy="kubectl -n {namespace} get jobs, then logs of the one that failed",
    ),
    "WorkloadsUnasked": AlertRecord(
        layer="monitoring", job="api-server", severity="warning", after="5m", object="workloads",
        expr=_unasked,
        what="the Kubernetes API was not asked for workloads for five minutes",
        why="the alerts of workloads and pods stay as they are",
        remedy="on the monitoring host: journalctl -n 50 -u groundup-workloads; run groundup.cloud.monitoring",
    ),
}  # fmt: skip
