"""A machine leaves the cluster by the verb `remove`, and joins again under its name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE

pytestmark = pytest.mark.lab
NODES = "/api/v1/nodes"
MEMBERS = "/api/v1/namespaces/kube-system/pods"
# Its Galera member and what else keeps data there begin anew; two control hosts are left for a while.
FORCE = ["control-count", "local-volumes", "last-node"]


def play(playbook: str, **variables: object) -> subprocess.CompletedProcess[str]:
    """Run a playbook on the site under test."""
    command: list[str | Path] = [ROOT / "ci/run", "ansible-playbook", "-i", SITE_FILE, f"groundup.cloud.{playbook}"]
    return subprocess.run(
        [*command, "-e", json.dumps(variables)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=2400
    )


def nodes(api: Api) -> set[str]:
    """Return the names of the cluster's nodes."""
    return {node["metadata"]["name"] for node in api.get(NODES)["items"]}


def etcds(api: Api) -> set[str]:
    """Return the hosts etcd runs on."""
    return {pod["spec"]["nodeName"] for pod in api.get(MEMBERS, labelSelector="component=etcd")["items"]}


def test_the_only_control_host_stays(plan: Plan, state: Path) -> None:
    if len(plan.edge.hosts) > 1:
        pytest.skip("this site has several control hosts")
    done = play("remove", remove_machine=plan.edge.hosts[0], remove_force=FORCE)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "the only control host" in done.stdout + done.stderr
    node = Api(state / "kubeconfig").get(f"{NODES}/{plan.edge.hosts[0]}")
    assert not node["spec"].get("unschedulable")


def test_a_control_host_leaves_with_its_vote_and_joins_again(plan: Plan, state: Path) -> None:
    if len(plan.edge.hosts) < 3:
        pytest.skip("this site has no three control hosts: see inventories/lab-ha")
    api, name = Api(state / "kubeconfig"), plan.edge.hosts[-1]
    refused = play("remove", remove_machine=name)
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "they survive no loss" in refused.stdout + refused.stderr
    done = play("remove", remove_machine=name, remove_force=FORCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert name not in nodes(api) | etcds(api)
    again = play("site")
    assert again.returncode == 0, again.stdout[-8000:] + again.stderr
    assert name in nodes(api) & etcds(api)
