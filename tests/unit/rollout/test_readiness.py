"""How far a release is, and what is wrong with it, from objects as the API returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.manifests import split
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Object, Ref, ref_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import unready
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.readiness import readiness
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.snapshot import ReleaseSnapshot
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.diagnose.rules import diagnose
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.diagnose.symptoms import collect
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import EventLine

Status = dict[str, Any]


def workload(kind: str, name: str, status: Status, **spec: Any) -> Object:
    return {
        "apiVersion": "apps/v1", "kind": kind, "spec": spec, "status": status,
        "metadata": {"name": name, "namespace": "openstack", "generation": 2},
    }  # fmt: skip


def pod(name: str, owner: tuple[str, str], status: Status, **spec: Any) -> Object:
    return {
        "kind": "Pod", "spec": spec, "status": status,
        "metadata": {
            "name": name, "namespace": "openstack", "labels": {"pod-template-hash": "abc"},
            "ownerReferences": [{"kind": owner[0], "name": owner[1], "controller": True}],
        },
    }  # fmt: skip


def snapshot(*items: Object, events: Mapping[Ref, tuple[EventLine, ...]] | None = None) -> ReleaseSnapshot:
    return ReleaseSnapshot({ref_of(item): item for item in items}, events)


DEPLOYED = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}


@pytest.mark.parametrize(
    ("item", "ready"),
    [
        (workload("Deployment", "a", DEPLOYED, replicas=2), True),
        (workload("Deployment", "a", {**DEPLOYED, "observedGeneration": 1}, replicas=2), False),
        (workload("Deployment", "a", {**DEPLOYED, "updatedReplicas": 1}, replicas=2), False),
        (workload("Deployment", "a", {**DEPLOYED, "replicas": 3}, replicas=2), False),
        (workload("Deployment", "a", {"observedGeneration": 2}, replicas=0), True),
        (workload("StatefulSet", "a", {"observedGeneration": 2, "readyReplicas": 3, "currentRevision": "x",
                                       "updateRevision": "x"}, replicas=3), True),
        (workload("StatefulSet", "a", {"observedGeneration": 2, "readyReplicas": 3, "updatedReplicas": 1,
                                       "currentRevision": "x", "updateRevision": "y"}, replicas=3), False),
        (workload("StatefulSet", "a", {"observedGeneration": 2, "readyReplicas": 1, "currentRevision": "x",
                                       "updateRevision": "y"}, replicas=1, updateStrategy={"type": "OnDelete"}), True),
        (workload("DaemonSet", "a", {"observedGeneration": 2, "desiredNumberScheduled": 2, "numberReady": 2,
                                     "updatedNumberScheduled": 2}), True),
        (workload("DaemonSet", "a", {"observedGeneration": 2, "desiredNumberScheduled": 2, "numberReady": 1,
                                     "updatedNumberScheduled": 2}), False),
        (workload("Job", "a", {"conditions": [{"type": "Complete", "status": "True"}]}), True),
        (workload("Job", "a", {"active": 1}), False),
    ],
)  # fmt: skip
def test_a_workload_is_ready_when_its_present_specification_runs(item: Object, ready: bool) -> None:
    assert (not unready(item)) is ready


def test_progress_counts_hook_jobs_only_while_helm_runs_them() -> None:
    job = {"kind": "Job", "metadata": {"name": "sync", "annotations": {"helm.sh/hook": "post-install"}}}
    ready = workload("Deployment", "api", DEPLOYED, replicas=2)
    rendered = split("r", "openstack", [ready, job])
    assert readiness(rendered, snapshot(ready), hooks_done=False).ready == 1
    assert not readiness(rendered, snapshot(ready), hooks_done=False).complete
    assert readiness(rendered, snapshot(ready), hooks_done=True).complete


def test_the_line_says_what_the_first_pod_waits_for() -> None:
    waiting = pod("api-abc-1", ("ReplicaSet", "api-abc"), {
        "phase": "Pending",
        "initContainerStatuses": [{"name": "init", "ready": False, "state": {"running": {}}}],
    })  # fmt: skip
    item = workload("Deployment", "api", {"observedGeneration": 2}, replicas=1)
    now = readiness(split("r", "openstack", [item]), snapshot(item, waiting), hooks_done=True)
    assert now.waiting_for == "Deployment/api: api-abc-1 init 0/1 init is running"


def crashed(name: str, owner: tuple[str, str], container: str) -> Object:
    return pod(name, owner, {"phase": "Running", "containerStatuses": [
        {"name": container, "ready": False, "restartCount": 3, "image": "x:1",
         "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
         "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]})  # fmt: skip


def test_a_failed_job_is_more_telling_than_pods_that_wait_for_it() -> None:
    api = workload("Deployment", "api", {"observedGeneration": 2}, replicas=1)
    job = workload("Job", "sync", {"active": 1})
    waiting = pod("api-abc-1", ("ReplicaSet", "api-abc"), {
        "initContainerStatuses": [{"name": "init", "ready": False, "state": {"running": {}}}],
    })  # fmt: skip
    failing = crashed("sync-1", ("Job", "sync"), "keystone-db-sync")
    found = collect(split("r", "openstack", [api, job]), snapshot(api, job, waiting, failing))
    assert (found[0].object, found[0].container, found[0].exit_code) == ("Pod/sync-1", "keystone-db-sync", 1)


def test_a_failed_job_knows_what_still_serves() -> None:
    job = workload("Job", "sync", {"active": 1})
    failing = crashed("sync-1", ("Job", "sync"), "keystone-db-sync")
    for available, serving in ((1, ("Deployment/api",)), (0, ())):
        api = workload("Deployment", "api", {"observedGeneration": 2, "availableReplicas": available}, replicas=1)
        assert collect(split("r", "openstack", [api, job]), snapshot(api, job, failing))[0].serving == serving


def test_an_unbound_claim_is_evidence_by_itself() -> None:
    claim = {"kind": "PersistentVolumeClaim", "spec": {"storageClassName": "general"}, "status": {"phase": "Pending"},
             "metadata": {"name": "data-s-0", "namespace": "openstack"}}  # fmt: skip
    item = workload("StatefulSet", "s", {"observedGeneration": 2}, replicas=1)
    unscheduled = pod("s-0", ("StatefulSet", "s"), {"conditions": [{"type": "PodScheduled", "status": "False"}]},
                      volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data-s-0"}}])  # fmt: skip
    found = collect(split("r", "openstack", [item]), snapshot(item, unscheduled, claim))
    assert found[0].object == "PersistentVolumeClaim/data-s-0"
    assert "storage class general" in found[0].message


def test_a_claim_that_waits_for_its_pod_is_not_blamed_for_a_pod_that_no_node_takes() -> None:
    claim = {"kind": "PersistentVolumeClaim", "spec": {"storageClassName": "general"}, "status": {"phase": "Pending"},
             "metadata": {"name": "data-s-0", "namespace": "openstack"}}  # fmt: skip
    item = workload("StatefulSet", "s", {"observedGeneration": 2}, replicas=1)
    unplaced = pod("s-0", ("StatefulSet", "s"), {"conditions": [{"type": "PodScheduled", "status": "False"}]},
                   volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data-s-0"}}])  # fmt: skip
    said = {
        Ref("Pod", "openstack", "s-0"): [("FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.")],
        Ref("PersistentVolumeClaim", "openstack", "data-s-0"): [
            ("WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
            ("WaitForPodScheduled", "waiting for pod s-0 to be scheduled"),
        ],
    }
    events = {
        ref: tuple(EventLine(reason=reason, object=str(ref), message=text) for reason, text in lines)
        for ref, lines in said.items()
    }
    found = diagnose(collect(split("r", "openstack", [item]), snapshot(item, unplaced, claim, events=events))[0])
    assert found.layer == "node"
    assert "Insufficient cpu" in found.what


def test_pods_that_an_update_replaces_are_no_reason_to_give_it_up() -> None:
    """A Deployment keeps its broken pods until a new one is ready: what is wrong with them is what the update mends."""

    def template(image: str) -> dict[str, Any]:
        return {"containers": [{"name": "api", "image": image}]}

    def of(name: str, image: str, status: Status) -> Object:
        item = pod(name, ("ReplicaSet", name[:-2]), status, **template(image))
        item["metadata"]["labels"]["pod-template-hash"] = name[4:-2]
        return item

    stuck = {"containerStatuses": [{"name": "api", "ready": False, "image": "x:gone",
                                    "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}  # fmt: skip
    api = workload(
        "Deployment", "api", {"observedGeneration": 2}, replicas=1, template={"metadata": {}, "spec": template("x:2")}
    )
    old, new = of("api-old-1", "x:gone", stuck), of("api-new-1", "x:2", {"phase": "Pending"})
    rendered = split("r", "openstack", [api])
    assert [seen.object for seen in collect(rendered, snapshot(api, old, new))] == ["Pod/api-new-1"]
    assert [seen.object for seen in collect(rendered, snapshot(api, old))] == ["Pod/api-old-1"]


def test_what_a_pod_has_overcome_is_no_reason_to_give_it_up() -> None:
    """Events stay for an hour: a member that copies a large database would be given up for the claim it once lacked."""
    told = {
        "FailedScheduling": "0/306 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
        "FailedMount": "MountVolume.SetUp failed for volume data: timed out",
        "FailedCreatePodSandBox": "plugin type flannel failed: no subnet yet",
        "Failed": 'Failed to pull image "registry/x:1": not found',
        "BackOff": 'Back-off pulling image "registry/x:1"',
        "Unhealthy": "Readiness probe failed: not in step with the cluster",
    }
    lines = tuple(EventLine(reason=reason, object="Pod/s-0", message=message) for reason, message in told.items())
    events = {Ref("Pod", "openstack", "s-0"): lines}
    item = workload("StatefulSet", "s", {"observedGeneration": 2}, replicas=1)
    owner = ("StatefulSet", "s")

    def seen(*states: Status, node: str = "control-1") -> tuple[tuple[str, ...], float | None]:
        containers = [{"name": f"c{number}", "ready": False, "state": state} for number, state in enumerate(states)]
        member = pod("s-0", owner, {"phase": "Pending", "containerStatuses": containers}, nodeName=node)
        symptom = collect(split("r", "openstack", [item]), snapshot(item, member, events=events))[0]
        return tuple(event.reason for event in symptom.events), diagnose(symptom).patience

    assert seen({"running": {}}) == (("Unhealthy",), None)
    pulling = {"waiting": {"reason": "ImagePullBackOff"}}
    assert seen({"running": {}}, pulling) == (("Failed", "BackOff", "Unhealthy"), 45.0)
    assert seen({"waiting": {"reason": "ContainerCreating"}})[0] == tuple(told)[1:]
    assert seen(node="")[0] == tuple(told)


def test_a_job_whose_pods_are_gone_still_speaks() -> None:
    job = workload(
        "Job", "sync", {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}
    )
    found = collect(split("r", "openstack", [job]), snapshot(job))
    assert (found[0].reason, found[0].final) == ("BackoffLimitExceeded", True)


def test_failed_runs_count_while_a_container_waits_for_its_next_one() -> None:
    """The one that runs may succeed."""
    job = workload("Job", "sync", {"active": 1})
    failing = crashed("sync-1", ("Job", "sync"), "sync")
    assert [one.crashes for one in collect(split("r", "openstack", [job]), snapshot(job, failing))] == [4]
    failing["status"]["containerStatuses"][0]["state"] = {"running": {}}
    assert [one.crashes for one in collect(split("r", "openstack", [job]), snapshot(job, failing))] == [0]


def test_nodes_and_name_service_are_judged_for_every_release() -> None:
    node = {"kind": "Node", "metadata": {"name": "worker-1"}, "status": {"conditions": [
        {"type": "Ready", "status": "Unknown"}, {"type": "DiskPressure", "status": "True"}]}}  # fmt: skip
    dns = {"kind": "Deployment", "status": {}, "metadata": {
        "name": "coredns", "namespace": "kube-system", "labels": {"k8s-app": "kube-dns"}}}  # fmt: skip
    facts = snapshot(node, dns).facts
    assert facts.not_ready_nodes == facts.full_nodes == ("worker-1",)
    assert facts.dns_down == "kube-system/Deployment/coredns"


def test_a_node_a_pod_may_not_go_to_is_not_blamed_for_it() -> None:
    """Of 300 hosts one is always down: it says nothing about a pod that only control hosts may run."""

    def node(name: str, ready: str, full: str, **labels: str) -> Object:
        states = [{"type": "Ready", "status": ready}, {"type": "DiskPressure", "status": full}]
        return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"conditions": states}}

    message = "0/306 nodes are available: 2 node(s) had untolerated taint(s), 3 Insufficient memory."
    events = {
        Ref("Pod", "openstack", "s-0"): (EventLine(reason="FailedScheduling", object="Pod/s-0", message=message),)
    }
    item = workload("StatefulSet", "s", {"observedGeneration": 2}, replicas=1)
    unplaced = pod("s-0", ("StatefulSet", "s"), {"conditions": [{"type": "PodScheduled", "status": "False"}]},
                   nodeSelector={"control": "enabled"})  # fmt: skip

    def blamed(*nodes: Object) -> tuple[str, str]:
        symptom = collect(split("r", "openstack", [item]), snapshot(item, unplaced, *nodes, events=events))[0]
        return diagnose(symptom).rule, diagnose(symptom).object

    others = node("hv-217", "Unknown", "False"), node("hv-218", "True", "True")
    assert blamed(*others, node("control-1", "True", "False", control="enabled")) == ("no-room", "Pod/s-0")
    down = node("control-1", "Unknown", "False", control="enabled")
    assert blamed(*others, down) == ("node-not-ready", "Node/control-1")


def test_the_line_names_the_job_that_pods_wait_for() -> None:
    api = workload("Deployment", "api", {"observedGeneration": 2}, replicas=1)
    job = workload("Job", "db-sync", {"active": 1})
    later = workload("Job", "later", {})
    now = readiness(split("r", "openstack", [api, later, job]), snapshot(api, job), hooks_done=False)
    assert now.waiting_for.startswith("Job/db-sync")
