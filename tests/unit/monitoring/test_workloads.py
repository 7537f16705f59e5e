"""What objects of Kubernetes say of themselves, and on which sites they are asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import asking
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import text
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.workloads.objects import CRON_FAILED, KINDS

from .conftest import MonitoringHost


def told(path: str, *objects: dict[str, Any]) -> list[str]:
    return text(KINDS[path](objects)).splitlines()


def named(name: str, status: dict[str, Any], *, owner: str = "", made: str = "", ends: str = "") -> dict[str, Any]:
    meta = {
        "namespace": "openstack", "name": name, "creationTimestamp": made,
        **({"ownerReferences": [{"kind": "CronJob", "name": owner}]} if owner else {}),
        **({"deletionTimestamp": ends} if ends else {}),
    }  # fmt: skip
    return {"metadata": meta, "spec": {"replicas": 1}, "status": status}


def ended(name: str, condition: str, *, hour: int, owner: str = "rotate") -> dict[str, Any]:
    conditions = [{"type": condition, "status": "True"}]
    return named(name, {"conditions": conditions}, owner=owner, made=f"2026-11-30T{hour:02}:00:00Z")


def test_of_a_cron_job_the_newest_job_that_has_ended_counts() -> None:
    runs = named("rotate-3", {"active": 1}, owner="rotate", made="2026-11-30T09:00:00Z")
    label = '{namespace="openstack",cronjob="rotate"}'
    path = "/apis/batch/v1/jobs"
    assert told(path, ended("rotate-2", "Failed", hour=8), ended("rotate-1", "Complete", hour=7), runs) == [
        f"{CRON_FAILED}{label} 1"
    ]
    assert told(path, ended("rotate-1", "Failed", hour=7), ended("rotate-2", "Complete", hour=8)) == [
        f"{CRON_FAILED}{label} 0"
    ]
    assert told(path, runs, ended("db-sync", "Failed", hour=9, owner="")) == [], "a run of ours tells of its own"


def test_a_workload_that_has_just_been_made_has_no_pod_that_serves() -> None:
    assert told("/apis/apps/v1/statefulsets", named("mariadb", {})) == [
        'kube_statefulset_replicas{namespace="openstack",statefulset="mariadb"} 1',
        'kube_statefulset_status_replicas_ready{namespace="openstack",statefulset="mariadb"} 0',
    ]
    assert [line.rpartition(" ")[2] for line in told("/apis/apps/v1/daemonsets", named("kube-proxy", {}))] == ["0", "0"]


def test_pods_tell_what_keeps_them() -> None:
    where = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    one = '{namespace="openstack",pod="heat-0"}'
    assert told("/api/v1/pods", named("heat-0", {"conditions": [where]})) == [f"kube_pod_status_unschedulable{one} 1"]
    gated = {**where, "reason": "SchedulingGated"}
    assert told("/api/v1/pods", named("heat-0", {"conditions": [gated]})) == []
    assert told("/api/v1/pods", named("heat-0", {"conditions": [where]}, ends="2026-11-30T00:00:10Z")) == [
        f"kube_pod_deletion_timestamp{one} 1795996810"
    ]
    state = {"name": "wait", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    both = '{namespace="openstack",pod="heat-0",container="wait"'
    assert told("/api/v1/pods", named("heat-0", {"initContainerStatuses": [state]})) == [
        f"kube_pod_init_container_status_restarts_total{both}}} 2",
        f'kube_pod_init_container_status_waiting_reason{both},reason="CrashLoopBackOff"}} 1',
    ]


def test_nodes_that_are_not_ready_are_counted() -> None:
    def node(status: str) -> dict[str, Any]:
        return {"metadata": {"name": "a"}, "status": {"conditions": [{"type": "Ready", "status": status}]}}

    assert told("/api/v1/nodes", node("True"), node("Unknown"), {"metadata": {"name": "new"}}) == [
        "groundup_nodes_not_ready 2"
    ]


def test_the_monitoring_host_is_told_whom_to_ask_and_by_which_token(
    host: MonitoringHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(watched, "HOME", tmp_path)
    monkeypatch.setattr(watched, "LIBRARY", tmp_path / "lib")
    told = {"servers": ["10.0.0.1:6444"], "token": "/token", "authority": "/ca.crt"}
    asking.converge(Changes(check=False), watched.WORKLOADS, told)
    place = host.home / "workloads/api.json"
    assert json.loads(place.read_text()) == told
    service = asking.units(watched.WORKLOADS)["groundup-workloads.service"]
    assert f"{watched.WORKLOADS.program} {watched.WORKLOADS.metrics} {place}\n" in service
    assert watched.WORKLOADS.program.is_file()
    again = Changes(check=False)
    asking.converge(again, watched.WORKLOADS, told)
    assert again.done == []
