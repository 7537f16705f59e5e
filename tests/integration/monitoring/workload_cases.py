"""The same for what Kubernetes runs: all by the monitoring host's node exporter, whose `object` it has."""

from __future__ import annotations

from .cases import BEGIN, Case, Series


def _told(name: str, values: str, **labels: str) -> Series:
    inside = "".join(f',{label}="{value}"' for label, value in labels.items())
    return {f'{name}{{job="node",object="seed-1"{inside}}}': values}


def _deployment(wanted: str, there: str, *, name: str = "nova-conductor", namespace: str = "openstack") -> Series:
    return _told("kube_deployment_spec_replicas", wanted, namespace=namespace, deployment=name) | _told(
        "kube_deployment_status_replicas_available", there, namespace=namespace, deployment=name
    )


def _members(wanted: str, there: str) -> Series:
    own = {"namespace": "openstack", "statefulset": "mariadb"}
    return _told("kube_statefulset_replicas", wanted, **own) | _told(
        "kube_statefulset_status_replicas_ready", there, **own
    )


def _daemons(wanted: str, there: str) -> Series:
    own, name = {"namespace": "kube-system", "daemonset": "kube-proxy"}, "kube_daemonset_status"
    return _told(f"{name}_desired_number_scheduled", wanted, **own) | _told(f"{name}_number_available", there, **own)


def _waits(reason: str, values: str, *, kind: str = "", restarts: str = "0x30") -> Series:
    own = {"namespace": "openstack", "pod": "heat-0", "container": "main"}
    return _told(f"kube_pod_{kind}container_status_waiting_reason", values, **own, reason=reason) | _restarts(
        restarts, kind=kind
    )


def _restarts(values: str, *, kind: str = "") -> Series:
    own = {"namespace": "openstack", "pod": "heat-0", "container": "main"}
    return _told(f"kube_pod_{kind}container_status_restarts_total", values, **own)


def _pod(name: str, values: str) -> Series:
    return _told(name, values, namespace="kube-system", pod="cilium-x")


def _out(number: int) -> Series:
    return _told("groundup_nodes_not_ready", f"{number}x30")


def _of(layer: str, object_: str, **labels: str) -> dict[str, str]:
    namespace = "openstack" if layer == "openstack" else "kube-system"
    return {"layer": layer, "object": object_, "namespace": namespace, **labels}


_DOWN = _of("openstack", "Deployment openstack/nova-conductor", deployment="nova-conductor")
_SHORT = _of("openstack", "StatefulSet openstack/mariadb", statefulset="mariadb")
_STUCK = _of("openstack", "openstack/heat-0", pod="heat-0", container="main")
_ENDING = _of("kubernetes", "kube-system/cilium-x", pod="cilium-x")
_LOOKED = 'groundup_workloads_looked_timestamp_seconds{job="node",object="seed-1"}'
WORKLOAD_CASES = (
    Case(
        alert="WorkloadDown", layer="kubernetes", fires=_deployment("2x30", "2 0x30"),
        quiet=_deployment("2x30", "2x30"), labels=_DOWN,
    ),
    Case(  # none that should be is no fault
        alert="WorkloadDown", layer="kubernetes", fires=_daemons("5x30", "0x30"), quiet=_daemons("0x30", "0x30"),
        labels=_of("kubernetes", "DaemonSet kube-system/kube-proxy", daemonset="kube-proxy"),
    ),
    Case(
        alert="WorkloadShort", layer="kubernetes", fires=_members("3x30", "3 2x30"), quiet=_members("3x30", "3x30"),
        labels=_SHORT,
    ),
    Case(  # one that is pulled again and again is between two reasons
        alert="PodStuck", layer="kubernetes", fires=_waits("ImagePullBackOff", "1 _ _ 1 _ _ 1 _ _ 1 _ _ 1 _ _ 1"),
        quiet=_waits("ContainerCreating", "1x30"), labels=_STUCK | {"reason": "ImagePullBackOff"},
    ),
    Case(
        alert="PodCrashes", layer="kubernetes", fires=_waits("CrashLoopBackOff", "1x6 _ _ 1 _ _ 1 _ _ 1"),
        quiet=_waits("CrashLoopBackOff", "1x3 _x27"), labels=_STUCK,
    ),
    Case(
        alert="PodUnscheduled", layer="kubernetes", fires=_pod("kube_pod_status_unschedulable", "1x30"),
        quiet=_pod("kube_pod_status_unschedulable", "1x3 _x27"), labels=_ENDING,
    ),
    Case(
        alert="PodNotEnding", layer="kubernetes", fires=_pod("kube_pod_deletion_timestamp", f"{BEGIN - 600}x30"),
        quiet=_pod("kube_pod_deletion_timestamp", f"{BEGIN + 400}x30"), labels=_ENDING,
    ),
    Case(
        alert="CronJobFails", layer="kubernetes",
        fires=_told("groundup_cronjob_failed", "0 1x30", namespace="openstack", cronjob="rotate"),
        quiet=_told("groundup_cronjob_failed", "1 1 0x30", namespace="openstack", cronjob="rotate"),
        labels=_of("openstack", "openstack/rotate", cronjob="rotate"),
    ),
    Case(
        alert="WorkloadsUnasked", layer="monitoring", fires={_LOOKED: f"{BEGIN}x30"},
        quiet={_LOOKED: f"{BEGIN}+60x30"}, labels={"object": "workloads"},
    ),
)  # fmt: skip
WORKLOADS_ALONE = (
    Case(  # one that is gone
        alert="PodStuck", layer="kubernetes", fires=_waits("ImagePullBackOff", "1x13 _x17"),
        quiet=_waits("ImagePullBackOff", "1x13 _x17", restarts="0x13 stale"),
        labels=_STUCK | {"reason": "ImagePullBackOff"},
    ),
    Case(  # what a lost node takes with it is no fault of the workload; one without any pod is told all the same
        alert="WorkloadShort", layer="kubernetes", fires=_members("3x30", "2x30") | _out(0),
        quiet=_members("3x30", "2x30") | _out(1), labels=_SHORT,
    ),
    Case(
        alert="WorkloadDown", layer="kubernetes", fires=_deployment("2x30", "0x30") | _out(1),
        quiet=_deployment("0x30", "0x30") | _out(1), labels=_DOWN,
    ),
    Case(
        alert="PodNotEnding", layer="kubernetes",
        fires=_pod("kube_pod_deletion_timestamp", f"{BEGIN - 600}x30") | _out(0),
        quiet=_pod("kube_pod_deletion_timestamp", f"{BEGIN - 600}x30") | _out(1), labels=_ENDING,
    ),
    Case(
        alert="PodStuck", layer="kubernetes",
        fires=_waits("ErrImagePull", "1x12 _x18", kind="init_") | _waits("ImagePullBackOff", "_x6 1x30", kind="init_"),
        quiet=_waits("PodInitializing", "1x30", kind="init_"), labels=_STUCK | {"reason": "ImagePullBackOff"},
    ),
    Case(  # that it had many restarts before it was looked at is no fault
        alert="PodCrashes", layer="kubernetes", fires=_restarts("0 0 0 0 0 1 2 3 4 4 5 5 5 6 6 6 6"),
        quiet=_restarts("40x5 41 42x30"), labels=_STUCK,
    ),
    Case(
        alert="PodCrashes", layer="kubernetes", fires=_restarts("0 0 0 0 0 1 2 3 4 4 5 5 5 6 6 6 6", kind="init_"),
        quiet=_waits("ImagePullBackOff", "1x30", kind="init_"), labels=_STUCK,
    ),
)  # fmt: skip
