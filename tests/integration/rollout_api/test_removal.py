"""A node leaves a real cluster: its pods are evicted, budgets are respected, and what would be lost is named first."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import removal
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import is_ready

from .conftest import LEAVING, Site

PATIENCE = 120.0
SPEC = {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "c", "image": "i"}]}


def pod(site: Site, name: str) -> None:
    """Make a pod on the node that no controller made: one of a controller would come back to the puppet's only node."""
    metadata = {"name": name, "namespace": site.namespace, "labels": {"app": name}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": site.puppet.name, **SPEC}}
    pods = resource_path("v1", "pods", namespace=site.namespace)
    site.api.request("POST", pods, body=body)
    # A budget does not protect a pod that has not started.
    assert not wait_until(lambda: not is_ready(site.api.get(f"{pods}/{name}")), timeout=PATIENCE)


def agent(site: Site) -> None:
    """Make a DaemonSet, and wait for its pod."""
    labels = {"app": "agent"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": site.namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": SPEC}},
    }
    site.api.request("POST", resource_path("apps/v1", "daemonsets", namespace=site.namespace), body=body)
    assert not wait_until(lambda: not pods_of(site), timeout=PATIENCE)


def pods_of(site: Site) -> list[str]:
    """Return the apps of this test's pods on the node."""
    found = site.api.get(resource_path("v1", "pods", namespace=site.namespace))["items"]
    return sorted(
        item["metadata"]["labels"]["app"] for item in found if item["spec"].get("nodeName") == site.puppet.name
    )


def guarded(site: Site, app: str) -> str:
    """Make a budget that keeps the only pod of ``app``; return its path."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": site.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
    }
    budgets = resource_path("policy/v1", "poddisruptionbudgets", namespace=site.namespace)
    site.api.request("POST", budgets, body=budget)
    return f"{budgets}/b"


def own(site: Site, leaving: removal.LeavingNode) -> list[str]:
    """Return the names of this test's pods among those that leave."""
    prefix = f"{site.namespace}/"
    return sorted(name.removeprefix(prefix) for name in leaving.pods if name.startswith(prefix))


@pytest.fixture
def node() -> str:
    """A node of the test's own: other tests left pods on theirs."""
    return f"worker-{next(LEAVING)}"


def test_pods_are_evicted_and_those_of_the_node_itself_stay(site: Site) -> None:
    agent(site)
    pod(site, "web")
    leaving = removal.survey(site.api, site.puppet.name)
    assert (own(site, leaving), leaving.ready, leaving.control) == (["web"], True, False)
    assert leaving.address == site.puppet.address
    removal.drain(site.api, leaving, timeout=PATIENCE, say=print)
    assert own(site, removal.survey(site.api, site.puppet.name)) == []
    assert set(pods_of(site)) == {"agent"}  # one for each node of the cluster: the puppet takes them all
    assert site.api.get(resource_path("v1", "nodes", name=site.puppet.name))["spec"]["unschedulable"] is True


def test_a_budget_is_respected_and_the_pod_it_keeps_is_named(site: Site) -> None:
    pod(site, "kept")
    budget = guarded(site, "kept")
    said: list[str] = []
    leaving = removal.survey(site.api, site.puppet.name)
    with pytest.raises(GroundupError, match=r"still on .* after 3 s") as caught:
        removal.drain(site.api, leaving, timeout=3.0, say=said.append)
    assert f"{site.namespace}/kept: Cannot evict pod" in caught.value.what
    assert said == [line for line in said if line.startswith(f"{site.namespace}/kept: ")]
    assert len(said) == 1, "it is said once"
    assert own(site, removal.survey(site.api, site.puppet.name)) == ["kept"]
    site.api.delete(budget)
    removal.drain(site.api, leaving, timeout=PATIENCE, say=print)
    assert own(site, removal.survey(site.api, site.puppet.name)) == []


def test_data_on_the_nodes_disk_and_pods_nobody_makes_again_need_consent(site: Site) -> None:
    name = f"pv-{site.namespace}"
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/nowhere"},
            "claimRef": {"namespace": site.namespace, "name": "mysql-data-0"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "kubernetes.io/hostname", "operator": "In", "values": [site.puppet.name]}
                            ]
                        }
                    ]
                }
            },
        },
    }
    site.api.request("POST", removal.VOLUMES, body=volume)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "mysql-data-0", "namespace": site.namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "volumeName": name,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    claims = resource_path("v1", "persistentvolumeclaims", namespace=site.namespace)
    site.api.request("POST", claims, body=claim)
    pod(site, "bare")
    leaving = removal.survey(site.api, site.puppet.name)
    with pytest.raises(GroundupError) as caught:
        removal.refuse(leaving, [])
    assert f"{site.namespace}/mysql-data-0" in caught.value.what
    assert f"{site.namespace}/bare" in caught.value.what
    assert "remove_force" in caught.value.remedy
    removal.refuse(leaving, ["local-volumes", "bare-pods", "last-node"])
    removal.drain(site.api, leaving, timeout=PATIENCE, say=print)
    assert f"volume claim {site.namespace}/mysql-data-0" in removal.delete(site.api, leaving)
    assert [
        line for line in removal.remains(site.api, site.puppet.name, timeout=PATIENCE) if site.namespace in line
    ] == []


def test_a_node_that_is_down_does_not_hold_the_removal(site: Site) -> None:
    pod(site, "lost")
    site.puppet.node(ready=False)
    leaving = removal.survey(site.api, site.puppet.name)
    removal.drain(site.api, leaving, timeout=0.0, say=print)
    assert removal.delete(site.api, leaving)[0] == f"Node {site.puppet.name}"
    assert removal.survey(site.api, site.puppet.name).found is False


def test_a_node_that_is_lost_while_it_is_drained_does_not_hold_the_removal(site: Site) -> None:
    """A host that died a moment ago still counts as Ready when its drain begins."""
    pod(site, "kept")
    guarded(site, "kept")
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        site.puppet.node(ready=False)

    removal.drain(site.api, removal.survey(site.api, site.puppet.name), timeout=PATIENCE, say=say)
    assert said[-1] == f"{site.puppet.name} is not Ready any more: what is still on it goes with its Node"
    assert own(site, removal.survey(site.api, site.puppet.name)) == ["kept"]
