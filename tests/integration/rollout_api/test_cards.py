"""Failure cards from real objects, events and logs: the layer and the object at fault are named."""

from __future__ import annotations

import http.server
from pathlib import Path
from typing import Any

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import Card
from ansible_collections.groundup.cloud.tests.unit import tls

from .conftest import SECRET, Site
from .puppet import NODE, Object, fails, is_left_alone, runs, waits

IMAGE = "registry.test:5000/probe:1"


def card(site: Site, **values: Any) -> Card:
    """Roll the probe out and return its only card."""
    result = site.rollout(site.release("probe", **values), start_timeout=90.0).apply()
    assert result.failed
    (made,) = result.cards
    assert any(line.startswith("┌─ FAILED probe") for line in site.lines)
    assert SECRET not in "\n".join(site.lines)
    return made


def test_an_image_missing_from_the_registry(site: Site) -> None:
    site.puppet.rules["api"] = waits("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": {IMAGE}: not found')
    made = card(site)
    assert (made.layer, made.object) == ("image", f"image {IMAGE}")


def test_an_object_the_api_server_refuses_is_told_and_not_the_pods_that_are_on_their_way(site: Site) -> None:
    site.puppet.rules["api"] = waits("ContainerCreating", "")
    made = card(site, broken=True)
    assert (made.layer, made.rule, made.object) == ("chart", "refused", "release probe")
    assert "Ingress" in made.what
    assert made.next == f"helm --namespace {site.namespace} history probe"


def test_a_registry_that_is_down(site: Site) -> None:
    message = 'failed to do request: Head "http://registry.test:5000/v2/probe": dial tcp: connect: connection refused'
    site.puppet.rules["api"] = waits("ErrImagePull", message)
    made = card(site)
    assert (made.layer, made.rule, made.object) == ("image", "registry-down", "registry registry.test:5000")


def test_a_volume_claim_nobody_serves(site: Site) -> None:
    site.puppet.rules["server"] = is_left_alone
    made = card(site, stateful=True)
    assert (made.layer, made.object) == ("volume", "PersistentVolumeClaim/data-probe-server-0")
    assert "general" in made.what


def test_a_wrong_database_password_from_the_log_of_a_job(site: Site) -> None:
    site.puppet.rules["sync"] = fails()
    site.puppet.logs["sync"] = f"pymysql.err.OperationalError: (1045, \"Access denied for user 'k'\") {SECRET}\n"
    made = card(site)
    assert (made.layer, made.rule) == ("credentials", "db-password")
    assert made.log == ("pymysql.err.OperationalError: (1045, \"Access denied for user 'k'\") [secret probe/password]",)


def test_a_job_that_fails_with_a_traceback_even_when_its_pods_are_gone(site: Site) -> None:
    site.puppet.rules["sync"] = fails()
    site.puppet.logs["sync"] = "Traceback (most recent call last):\n  File x\nValueError: no such region\n"
    made = card(site)
    assert (made.layer, made.object) == ("service", "Job/probe-sync")
    assert "ValueError: no such region" in made.what
    assert made.container == "sync"


def test_a_migration_that_fails_while_pods_of_the_former_version_serve(site: Site) -> None:
    assert not site.rollout(site.release("probe")).apply().failed

    def api(pod: Object) -> Object | None:
        former = pod["metadata"]["annotations"]["greeting"] == "hello"
        return (runs if former else waits("PodInitializing", ""))(pod)

    site.puppet.rules |= {"api": api, "sync": fails()}
    site.puppet.logs["sync"] = "Traceback (most recent call last):\nsqlalchemy.exc.OperationalError: (1060, 'twice')\n"
    made = card(site, greeting="good evening", job="db-sync")
    assert (made.layer, made.rule, made.object) == ("database", "migration-failed", "Job/probe-db-sync")
    assert "(1060, 'twice')" in made.what
    assert "Deployment/probe-api: pods of the former version still serve; nothing is rolled back" in made.what
    pods = site.api.get(resource_path("v1", "pods", namespace=site.namespace), labelSelector="component=api")["items"]
    ready = [one["metadata"]["annotations"]["greeting"] for one in pods if one["status"]["phase"] == "Running"]
    assert ready == ["hello"]


def test_a_clock_that_is_behind(site: Site, tmp_path: Path) -> None:
    ahead = tls.pair(begins=0.1)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    ahead.shown_by(server, tmp_path)
    (tmp_path / "ca.crt").write_text(ahead.certificate)
    with tls.serving(server) as port, pytest.raises(requests.exceptions.SSLError) as said:
        requests.get(f"https://127.0.0.1:{port}/v3", verify=str(tmp_path / "ca.crt"), timeout=10)
    site.puppet.rules["api"] = fails()
    site.puppet.logs["api"] = f"{said.value}\n"
    made = card(site)
    assert (made.layer, made.rule) == ("node", "clock-skew")
    assert "groundup.cloud.host --tags verify" in made.next


def test_a_node_that_is_not_ready(site: Site) -> None:
    site.puppet.rules["api"] = waits("ContainerCreating", "")
    site.puppet.node(ready=False)
    try:
        made = card(site)
    finally:
        site.puppet.node(ready=True)
    assert (made.layer, made.object) == ("node", f"Node/{NODE}")


def test_a_node_whose_disk_is_full(site: Site) -> None:
    message = "failed to pull and unpack image: failed to extract layer: write /var/lib: no space left on device"
    site.puppet.rules["api"] = waits("ErrImagePull", message)
    made = card(site)
    assert (made.layer, made.rule, made.object) == ("node", "node-disk-full", f"Node/{NODE}")


def test_a_name_service_that_is_down(site: Site) -> None:
    dns = "/apis/apps/v1/namespaces/kube-system/deployments"
    labels = {"k8s-app": "kube-dns"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "coredns", "image": "c:1"}]}}
    body = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "coredns", "labels": labels},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }  # fmt: skip
    site.api.request("POST", dns, body=body)
    site.puppet.rules["api"] = fails()
    site.puppet.logs["api"] = "socket.gaierror: [Errno -3] Temporary failure in name resolution\n"
    try:
        made = card(site)
    finally:
        site.api.request("DELETE", f"{dns}/coredns")
    assert (made.layer, made.object) == ("network", "Deployment/coredns (kube-system)")


def test_a_database_without_a_quorum(site: Site) -> None:
    site.puppet.rules["api"] = fails()
    site.puppet.logs["api"] = (
        "(pymysql.err.InternalError) (1047, 'WSREP has not yet prepared node for application use')\n"
    )
    made = card(site)
    assert (made.layer, made.rule) == ("database", "quorum")


def test_an_object_the_api_server_refuses(site: Site) -> None:
    made = card(site, image="registry.test:5000/probe:1", replicas=-1)
    assert made.layer == "chart"


def test_the_events_of_the_object_are_on_the_card(site: Site) -> None:
    site.puppet.rules["server"] = is_left_alone
    site.puppet.event(
        "PersistentVolumeClaim", "data-probe-server-0", "ProvisioningFailed", 'storageclass "general" not found'
    )
    made = card(site, stateful=True)
    assert "ProvisioningFailed" in [event.reason for event in made.events]
