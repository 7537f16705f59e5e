"""A machine leaves the cluster by the verb `remove`, and joins again. Needs three control hosts: inventories/lab-ha."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import is_ready
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import NODES, etcds, nodes, play
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
# Its Galera member and what else keeps data there begin anew; two control hosts are left for a while.
FORCE = ["control-count", "local-volumes", "last-node"]
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"


@contextmanager
def serving(api: Api, image: str, *, on: str) -> Iterator[Callable[[], list[str]]]:
    """Run a workload that prefers the node ``on``; give a function that says where its Ready pods are."""
    name = f"serving-{secrets.token_hex(3)}"
    prefers = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}]}
    pod = {
        "containers": [{"name": "main", "image": image, "command": ["sleep", "3600"]}],
        "terminationGracePeriodSeconds": 1,
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": prefers}]
            }
        },
    }
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    api.request("POST", DEPLOYMENTS, body=body)
    try:
        yield lambda: [
            item["spec"]["nodeName"]
            for item in api.get(PODS, labelSelector=f"app={name}")["items"]
            if is_ready(item) and not item["metadata"].get("deletionTimestamp")
        ]
    finally:
        api.delete(f"{DEPLOYMENTS}/{name}")


def test_the_only_control_host_stays(plan: Plan, state: Path) -> None:
    if len(plan.edge.hosts) > 1:
        pytest.skip("this site has several control hosts")
    assert "the only control host" in play("remove", code=2, machine=plan.edge.hosts[0], remove_force=FORCE)
    node = Api(state / "kubeconfig").get(f"{NODES}/{plan.edge.hosts[0]}")
    assert not node["spec"].get("unschedulable")


def test_a_worker_that_serves_leaves_drained_and_joins_again(
    plan: Plan, state: Path, connect: Callable[[str], Any]
) -> None:
    if len(plan.edge.hosts) < 3:
        pytest.skip("the hosts of this site have the only copy of their data: see inventories/lab-ha")
    api, name = Api(state / "kubeconfig"), max(name for name, host in plan.hosts.items() if "worker" in host.roles)
    everyone = nodes(api)
    with serving(api, plan.supply.images["openstack-client"], on=name) as where:
        until(lambda: where() == [name], seconds=60)

        foretold = play("remove", "--check", machine=name, remove_force=FORCE)
        assert f"delete Node {name}" in foretold
        assert "evict default/serving-" in foretold
        assert not api.get(f"{NODES}/{name}")["spec"].get("unschedulable")
        assert where() == [name]

        play("remove", machine=name, remove_force=FORCE)
        assert nodes(api) == {other: ready for other, ready in everyone.items() if other != name}
        until(lambda: len(where()) == 1, seconds=60)
    left = "/etc/kubernetes /var/lib/kubelet /srv/kubernetes-volumes -mindepth 1 -not -path '*.before-reset*'"
    assert connect(name).run(f"sudo find {left}").stdout == ""
    assert connect(name).run("pgrep --list-name 'kubelet|containerd-shim'").stdout == ""
    for host in plan.edge.hosts:
        assert plan.hosts[name].address not in connect(host).run("sudo cat /etc/haproxy/haproxy.cfg").stdout

    play("site")
    assert nodes(api) == everyone


def test_a_control_host_leaves_with_its_vote_and_joins_again(plan: Plan, state: Path) -> None:
    if len(plan.edge.hosts) < 3:
        pytest.skip("this site has no three control hosts: see inventories/lab-ha")
    api, name = Api(state / "kubeconfig"), plan.edge.hosts[-1]
    assert "they survive no loss" in play("remove", code=2, machine=name)
    play("remove", machine=name, remove_force=FORCE)
    assert name not in nodes(api)
    until(lambda: etcds(api) == set(plan.edge.hosts) - {name}, seconds=120)  # pods of no Node go a little later
    play("site")
    assert nodes(api)[name]
    until(lambda: etcds(api) == set(plan.edge.hosts), seconds=60)
