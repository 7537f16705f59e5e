"""The cluster outlives its first control host and what the controller knew of it. Needs three: inventories/lab-ha."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import is_ready
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE

pytestmark = pytest.mark.lab
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def reinstalled(plan: Plan, state: Path) -> str:
    """The first control host as its installer leaves it: the metal and host layers have run on it."""
    if len(plan.edge.hosts) < 3:
        pytest.skip("this site has one control host: see inventories/lab-ha")
    name = plan.kubernetes.first_control
    remove(plan.site, name, state)
    for playbook in ("metal", "host"):
        play(playbook)
    return name


def remove(site: str, host: str, state: Path) -> None:
    """End a host of the lab and remove its disks."""
    runtime = ("runc", "--root", f"/run/groundup/{site}/runc")
    subprocess.run([*runtime, "delete", "--force", f"groundup.{site}.{host}"], check=True)
    disk = state / "lab" / host
    subprocess.run(["umount", "--lazy", str(disk / "rootfs")], check=True)
    shutil.rmtree(disk)


def play(playbook: str, *arguments: str) -> None:
    """Run a playbook of the collection; fail with the end of what it says."""
    command = [str(ROOT / "ci/run"), "ansible-playbook", "-i", str(SITE_FILE), f"groundup.cloud.{playbook}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, f"{playbook}\n{done.stdout[-6000:]}\n{done.stderr[-2000:]}"


def conditions(api: Api) -> dict[str, Any]:
    """Return whether each node of the cluster is Ready, by name."""
    return {node["metadata"]["name"]: is_ready(node) for node in api.get("/api/v1/nodes")["items"]}


def test_a_reinstalled_first_control_host_joins_its_cluster_though_the_controller_forgot_it(
    plan: Plan, state: Path, request: pytest.FixtureRequest
) -> None:
    """Without asking the others, the run would make a second cluster on it, at the address of the first."""
    kubeconfig, record = state / "kubeconfig", state / "cluster.json"
    before = json.loads(record.read_text())["ca"]
    name = request.getfixturevalue("reinstalled")
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"since": "before"}}
    api = Api(kubeconfig)
    api.delete(f"{CONFIG_MAPS}/kept")
    api.request("POST", CONFIG_MAPS, body=kept)
    kubeconfig.unlink()
    record.unlink()

    play("kubernetes", "--limit", name)

    api = Api(kubeconfig)
    assert json.loads(record.read_text())["ca"] == before
    assert api.get(f"{CONFIG_MAPS}/kept")["data"] == {"since": "before"}
    assert conditions(api) == dict.fromkeys((n for n, host in plan.hosts.items() if host.node_labels), True)
    etcd = api.get("/api/v1/namespaces/kube-system/pods", labelSelector="component=etcd")["items"]
    assert {pod["spec"]["nodeName"] for pod in etcd if is_ready(pod)} == set(plan.edge.hosts)
    play("kubernetes")
    api.delete(f"{CONFIG_MAPS}/kept")
