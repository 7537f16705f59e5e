"""Pod Security by the API server's own admission: every pod of the built-in charts, under the role's labels."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import of_kind
from ansible_collections.groundup.cloud.tests.contract.conftest import CHARTS, ROOT, SITES, objects, plain
from ansible_collections.groundup.cloud.tests.contract.test_builtin_charts import pods

from .conftest import Site

NAMESPACES = ROOT / "roles/kubernetes/templates/namespaces.yml.j2"


def labels(charts: str) -> dict[str, str]:
    """Return the labels that the role gives the namespace of OpenStack."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701  # YAML, not HTML
    site = {"openstack": {"namespace": "openstack", "charts": charts}}
    text = environment.from_string(NAMESPACES.read_text()).render(kubernetes_site=site)
    found: dict[str, str] = next(yaml.safe_load_all(text))["metadata"]["labels"]
    return found


def rendered(helm: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return owner and spec of every pod of a site with three members of everything and all services."""
    data = yaml.safe_load(SITES["ha"].read_text())
    data["openstack"]["services"] = [record.name for record in of_kind("service")]
    found = []
    for release in with_values(make_plan(build_site(data))).openstack.releases:
        done = subprocess.run(
            [helm, "template", release.name, CHARTS / release.chart, "--namespace", release.namespace, "--values", "-"],
            input=yaml.safe_dump(plain(release.values)), capture_output=True, text=True, check=True,
        )  # fmt: skip
        found += pods(objects(done.stdout))
    return found


def test_every_pod_is_admitted_and_one_that_mounts_the_host_is_refused(site: Site) -> None:
    meta = {"name": site.namespace, "labels": labels("builtin")}
    site.api.request(
        "PATCH", resource_path("v1", "namespaces", name=site.namespace), body={"metadata": meta},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    path = resource_path("v1", "pods", namespace=site.namespace)

    def admit(spec: dict[str, Any]) -> None:
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, "spec": spec}
        site.api.request("POST", path, query={"dryRun": "All"}, body=body)

    found = rendered(site.control_plane.helm)
    assert len(found) > 60
    for owner, spec in found:
        # Claims of a StatefulSet are volumes of its pods.
        mounted = {mount["name"] for one in spec["containers"] for mount in one.get("volumeMounts", ())}
        claims = mounted - {volume["name"] for volume in spec.get("volumes", ())}
        volumes = [*spec.get("volumes", ()), *({"name": name, "emptyDir": {}} for name in claims)]
        try:
            admit({**spec, "volumes": volumes, "serviceAccountName": "default"})
        except ApiError as error:
            pytest.fail(f"{owner}: {error}")
    host = {"name": "host", "hostPath": {"path": "/"}}
    with pytest.raises(ApiError, match="hostPath"):
        admit({"containers": [{"name": "c", "image": "none"}], "volumes": [host]})


def test_pods_of_openstack_helms_charts_are_warned_of_alone() -> None:
    found = labels("https://charts.test")
    assert found["pod-security.kubernetes.io/enforce"] == "privileged"
    assert found["pod-security.kubernetes.io/warn"] == "baseline"
