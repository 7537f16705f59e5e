"""What the monitoring host tells of workloads and pods of a real API server, with what the role lets it read."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.workloads import program
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

from .conftest import Site
from .puppet import waits

Told = dict[str, float]
ROLE = Path(__file__).parents[3] / "roles/monitoring/vars/main.yml"
ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts/groundup-monitoring"


class Watch:
    """The program, with the account of the role."""

    def __init__(self, site: Site, home: Path) -> None:
        self.site, self.home, self.file = site, home, home / "workloads.prom"
        for one in yaml.safe_load(ROLE.read_text())["monitoring_account"]:
            if one["kind"] != "Secret":  # nobody fills it in here
                self._make(one)
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        self.token = str(site.api.request("POST", f"{ACCOUNT}/token", body=asked)["status"]["token"])
        (home / "workloads.pyz").write_bytes(bundle.program(program))
        self.cluster = yaml.safe_load(site.control_plane.kubeconfig.read_text())["clusters"][0]["cluster"]
        (home / "ca.crt").write_bytes(base64.b64decode(self.cluster["certificate-authority-data"]))

    def _make(self, one: dict[str, Any]) -> None:
        meta = one["metadata"]
        path = resource_path(one["apiVersion"], f"{one['kind'].lower()}s", namespace=meta.get("namespace"))
        if not self.site.api.find(f"{path}/{meta['name']}"):
            self.site.api.request("POST", path, body=one)

    def run(self, *before: str, token: str = "") -> str:
        """Run the program; return what it says to the journal. ``before``: servers that are asked first."""
        (self.home / "token").write_text(token or self.token)
        servers = [*before, self.cluster["server"].removeprefix("https://")]
        told = {"servers": servers, "token": f"{self.home}/token", "authority": f"{self.home}/ca.crt"}
        (self.home / "api.json").write_text(json.dumps(told))
        command = [
            sys.executable,
            "-I",
            "-S",
            *(f"{self.home}/{name}" for name in ("workloads.pyz", "workloads.prom", "api.json")),
        ]
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr

    def told(self) -> Told:
        """Return what it tells of the site's namespace, and of no object, without the namespace's label."""
        assert self.run() == ""
        pairs = (line.rpartition(" ") for line in self.file.read_text().splitlines())
        own = f'namespace="{self.site.namespace}",'
        return {name.replace(own, ""): float(value) for name, _, value in pairs if own in name or "{" not in name}


@pytest.fixture
def watch(site: Site, tmp_path: Path) -> Watch:
    (tmp_path / "home").mkdir()
    return Watch(site, tmp_path / "home")


def workload(site: Site, kind: str, name: str, **more: Any) -> None:
    labels = {"component": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "registry.test/x:1"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod, **more}
    body = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    site.api.request("POST", resource_path("apps/v1", f"{kind.lower()}s", namespace=site.namespace), body=body)


def holds(watch: Watch, wanted: Told) -> None:
    until(lambda: wanted.items() <= watch.told().items(), seconds=60)


def test_workloads_tell_how_many_pods_serve_of_how_many(watch: Watch) -> None:
    watch.site.puppet.rules["half"] = waits("ImagePullBackOff", "no such image")
    workload(watch.site, "Deployment", "whole", replicas=2)
    workload(watch.site, "Deployment", "half", replicas=1)
    workload(watch.site, "StatefulSet", "members", replicas=1, serviceName="members")
    holds(watch, {
        'kube_deployment_spec_replicas{deployment="whole"}': 2,
        'kube_deployment_status_replicas_available{deployment="whole"}': 2,
        'kube_deployment_status_replicas_available{deployment="half"}': 0,
        'kube_statefulset_replicas{statefulset="members"}': 1,
        'kube_statefulset_status_replicas_ready{statefulset="members"}': 1,
    })  # fmt: skip
    stuck = [name for name in watch.told() if name.startswith("kube_pod_container_status_waiting_reason")]
    assert len(stuck) == 1
    assert 'pod="half-' in stuck[0]
    assert stuck[0].endswith('container="main",reason="ImagePullBackOff"}')


def test_what_the_role_lets_it_read_is_no_secret(watch: Watch) -> None:
    kubeconfig = yaml.safe_load(watch.site.control_plane.kubeconfig.read_text())
    kubeconfig["users"][0]["user"] = {"token": watch.token}
    (watch.home / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    api = Api(watch.home / "kubeconfig")
    for path in ("/api/v1/secrets", "/api/v1/configmaps", f"/api/v1/namespaces/{watch.site.namespace}/secrets"):
        with pytest.raises(ApiError, match="forbidden"):
            api.get(path)


def test_a_server_that_does_not_answer_is_passed_over_and_what_was_told_stays(watch: Watch) -> None:
    assert "ConnectionRefusedError" in watch.run("127.0.0.1:1")
    before = watch.file.read_text()
    assert "kube_" in before
    assert program.LOOKED in before
    assert "HTTP 401" in watch.run(token="of somebody else")
    assert watch.file.read_text() == before


def test_more_than_a_page_is_read(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        workload(watch.site, "Deployment", f"one-{number}", replicas=0)
    monkeypatch.setattr(program, "_PAGE", 1)
    context = ssl.create_default_context(cafile=watch.home / "ca.crt")
    server = watch.cluster["server"].removeprefix("https://")
    found = list(program.samples(server, context, token=watch.token))
    names = {one.labels.get("deployment") for one in found}
    assert {"one-0", "one-1", "one-2"} <= names
