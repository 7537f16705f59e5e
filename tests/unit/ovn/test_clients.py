"""Pods that knew clusters of OVN's databases which are no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.ovn import clients

SECRET = {"name": "neutron-ovn-tls", "namespace": "openstack"}
FORMER, NEW = {"nb": "a", "sb": "b"}, {"nb": "c", "sb": "b"}


def workload(name: str, *, secret: str = SECRET["name"]) -> dict[str, Any]:
    volumes = [{"name": "etc", "emptyDir": {}}, {"name": "tls", "secret": {"secretName": secret}}]
    return {"metadata": {"name": name}, "spec": {"template": {"metadata": {}, "spec": {"volumes": volumes}}}}


class Cluster(Api):
    """A cluster with Neutron's pods and others, which ends a run after some calls."""

    def __init__(self, *, limit: int = 99) -> None:
        self.secret: dict[str, Any] | None = {"metadata": {"name": SECRET["name"]}}
        server, driver, other = (
            workload("neutron-server"),
            workload("octavia-api"),
            workload("nova-api", secret="other"),
        )
        self.items = {"deployments": [server, driver, other], "statefulsets": [], "daemonsets": []}
        self.limit, self.applied = limit, list[str]()

    def find(self, path: str) -> dict[str, Any] | None:
        assert path == "/api/v1/namespaces/openstack/secrets/neutron-ovn-tls"
        return self.secret

    def get(self, path: str, **_: str) -> dict[str, Any]:
        return {"items": self.items[path.rpartition("/")[2]]}

    def apply(self, path: str, item: Mapping[str, Any], *, manager: str, dry_run: bool = False) -> dict[str, Any]:
        assert (manager, dry_run) == ("groundup-upgrade", False)
        if len(self.applied) == self.limit:
            raise KeyboardInterrupt
        self.applied.append(path.rpartition("/")[2])
        found = next((one for one in self.items["deployments"] if path.endswith(one["metadata"]["name"])), None)
        if found:
            found["spec"]["template"]["metadata"] = item["spec"]["template"]["metadata"]
        else:
            self.secret = {"metadata": item["metadata"]}
        return {}


def follow(cluster: Cluster, clusters: Mapping[str, str], *, check: bool = False) -> list[str]:
    changes = Changes(check=check)
    clients.follow(cluster, SECRET, clusters, changes)
    return changes.done


def test_pods_of_a_new_site_are_not_restarted() -> None:
    cluster = Cluster()
    assert follow(cluster, FORMER) == ["note the clusters of OVN's databases at Secret neutron-ovn-tls"]
    assert follow(cluster, FORMER) == []
    assert cluster.applied == [SECRET["name"]]


def test_pods_that_hold_the_certificate_are_restarted_once_for_a_cluster_made_anew() -> None:
    cluster = Cluster()
    follow(cluster, FORMER)
    predicted = follow(cluster, NEW, check=True)
    assert cluster.applied == [SECRET["name"]]
    assert follow(cluster, NEW) == predicted
    assert predicted[:2] == ["restart Deployment neutron-server", "restart Deployment octavia-api"]
    assert cluster.applied[1:] == ["neutron-server", "octavia-api", SECRET["name"]]
    assert follow(cluster, NEW) == []


@pytest.mark.parametrize("limit", [2, 3])
def test_a_killed_run_is_ended_by_the_next(limit: int) -> None:
    cluster = Cluster(limit=limit)
    follow(cluster, FORMER)
    with pytest.raises(KeyboardInterrupt):
        follow(cluster, NEW)
    cluster.limit = 99
    follow(cluster, NEW)
    assert cluster.applied[1:] == ["neutron-server", "octavia-api", SECRET["name"]], "each once"


def test_a_cluster_without_the_secret_has_no_such_pods() -> None:
    cluster = Cluster()
    cluster.secret = None
    assert follow(cluster, FORMER, check=True) == []


def test_pods_of_a_site_that_has_noted_nothing_are_restarted_when_a_cluster_is_given_up() -> None:
    cluster = Cluster()
    for _ in range(2):
        clients.remember(cluster, SECRET, FORMER, Changes(check=False))
    follow(cluster, NEW)
    assert cluster.applied == [SECRET["name"], "neutron-server", "octavia-api", SECRET["name"]]
