"""What hypervisors read from a cluster, by path of its API: Secrets and Services rendered from the built-in charts.

Usage: ci/run python molecule/hypervisor/objects.py SITE_FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import Helm
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.manifests import parse
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.configuration import NEUTRON_SECRET, NOVA_SECRET
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Object, resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

CHARTS = str(Path(__file__).resolve().parents[2] / "charts")
RELEASES = ("rabbitmq", "neutron", "nova")


def answers(site_file: str) -> dict[str, Any]:
    """Return what the API answers, by path."""
    plan = site_plan(site_file)
    store, namespace = open_store(plan.site, write=False), plan.openstack.namespace
    helm = Helm(binary=supply.tool("helm"), kubeconfig=Path("/nonexistent"), charts=CHARTS, processes=Processes())
    found: dict[str, Any] = {}
    services: list[Object] = []
    for release in plan.openstack.releases:
        if release.name not in RELEASES:
            continue
        values = store.resolve(release.values)
        text = helm.template(release, values, kube_version=plan.kubernetes.version, api_versions=())
        for one in parse(text, where=release.name):
            name = one["metadata"]["name"]
            if one["kind"] == "Service":
                services.append(one)
            elif one["kind"] == "Secret" and name in (NOVA_SECRET, NEUTRON_SECRET):
                found[resource_path("v1", "secrets", namespace=namespace, name=name)] = one
    return {**found, resource_path("v1", "services", namespace=namespace): {"items": services}}


if __name__ == "__main__":
    json.dump(answers(sys.argv[1]), sys.stdout)
