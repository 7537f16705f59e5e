"""Workloads and pods that do not run are told, in the layer of their namespace.

Needs tests/e2e/eyes/site.yml. Prints seconds from each fault to its alert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.alerting import LATEST, Eyes, seen, watching
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.long]
LOOKED = 75.0  # seconds until the API is asked again, and has answered
MINUTES = {"WorkloadDown": 3, "PodStuck": 5, "PodCrashes": 3, "PodUnscheduled": 5, "CronJobFails": 5}


@pytest.fixture(scope="module")
def eyes(plan: Plan, connect: Connect) -> Eyes:
    return watching(plan, connect)


@pytest.fixture(scope="module")
def api(state: Path) -> Api:
    return Api(state / "kubeconfig")


@contextmanager
def made(api: Api, group: str, plural: str, *, namespace: str, body: dict[str, Any]) -> Iterator[None]:
    """Make an object, and delete it at the end."""
    path = resource_path(group, plural, namespace=namespace)
    api.request("POST", path, body={"apiVersion": group, **body})
    try:
        yield
    finally:
        api.request("DELETE", f"{path}/{body['metadata']['name']}?propagationPolicy=Foreground")


def pod(image: str, *command: str, **more: Any) -> dict[str, Any]:
    container = {
        "name": "main", "image": image, "command": [*command],
        "securityContext": {
            "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True,
            "runAsUser": 42424, "seccompProfile": {"type": "RuntimeDefault"},
        },
    }  # fmt: skip
    return {"containers": [container], "automountServiceAccountToken": False, **more}


def deployment(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    labels = {"application": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }  # fmt: skip


def cron_job(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    job = {"backoffLimit": 0, "template": {"spec": {**spec, "restartPolicy": "Never"}}}
    return {
        "kind": "CronJob", "metadata": {"name": name},
        "spec": {"schedule": "* * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": job}},
    }  # fmt: skip


def test_what_kubernetes_does_not_run_is_told(plan: Plan, eyes: Eyes, api: Api, say: Callable[[str], None]) -> None:
    own = plan.openstack.namespace
    running = api.get(resource_path("v1", "pods", namespace=own))["items"]
    image = next(one["spec"]["containers"][0]["image"] for one in running if "heat-api-" in one["metadata"]["name"])
    names = ("eyes-crash", "eyes-no-image", "eyes-nowhere")
    with ExitStack() as stack:
        for name, spec in (
            ("eyes-crash", pod(image, "false")),
            ("eyes-no-image", pod(f"{image.rpartition('@')[0] or image}-none", "true")),
            ("eyes-nowhere", pod(image, "sleep", "9", nodeSelector={"eyes": "none"})),
        ):
            stack.enter_context(made(api, "apps/v1", "deployments", namespace=own, body=deployment(name, spec)))
        cron = cron_job("eyes-cron", pod(image, "false"))
        stack.enter_context(made(api, "batch/v1", "cronjobs", namespace=own, body=cron))

        def pods(name: str) -> list[str]:
            found = api.get(resource_path("v1", "pods", namespace=own), labelSelector=f"application={name}")["items"]
            return [f"{own}/{one['metadata']['name']}" for one in found]

        until(lambda: all(map(pods, names)), seconds=60)
        wanted = {
            ("WorkloadDown", f"Deployment {own}/eyes-crash"), ("WorkloadDown", f"Deployment {own}/eyes-nowhere"),
            ("WorkloadDown", f"Deployment {own}/eyes-no-image"), ("PodCrashes", pods("eyes-crash")[0]),
            ("PodStuck", pods("eyes-no-image")[0]), ("PodUnscheduled", pods("eyes-nowhere")[0]),
            ("CronJobFails", f"{own}/eyes-cron"),
        }  # fmt: skip
        # A CronJob begins within a minute, and its pod has to end; a pod crashes for the third time after 70 s.
        later = {"CronJobFails": 90, "PodCrashes": 90}
        most = {one: MINUTES[one[0]] * 60 + later.get(one[0], 0) + LOOKED + LATEST for one in wanted}
        found, others = seen(eyes, most)
        layers = {one["metric"]["layer"] for one in eyes.values('ALERTS{alertname="WorkloadDown"}')}
    for (alert, of), seconds in sorted(found.items(), key=lambda one: one[1]):
        say(f"{alert} of {of}: {seconds:.0f} s")
    say(f"also told: {sorted(others)}")
    assert {one: found.get(one) for one, latest in most.items() if found.get(one, latest + 1) > latest} == {}
    assert layers == {"openstack"}
    # Of the pods of the CronJob, and of what restarts at the same time, nothing.
    assert others == set()
    until(lambda: not eyes.alerts(), seconds=600)
