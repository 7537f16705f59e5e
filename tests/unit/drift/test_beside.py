"""What status knows beside the site file differs; health does not. Of an object it is told who wrote to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift import beside
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.rows import DriftRow
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Discovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.rows import StatusRow

PLAN = site_plan(COLLECTION / "inventories/cloud/site.yml")
DAILY = replace(PLAN, backups=replace(PLAN.backups, schedule="daily"))


def row(name: str, state: Any, what: str = "it is so") -> StatusRow:
    return StatusRow(name=name, state=state, what=what, remedy="do it")


@pytest.mark.parametrize(
    ("part", "state", "told"),
    [
        ("nodes", "warning", ("kubernetes", False)),
        ("nodes", "ok", None),
        ("hypervisors", "warning", ("hypervisor", False)),
        ("certificates", "broken", ("certificates", False)),
        ("hosts", "unknown", ("host", True)),
        ("hosts", "not made", ("host", False)),
        ("hosts", "broken", None),
        ("ceph", "broken", None),
        ("ceph", "unknown", ("storage", True)),
        ("backups", "warning", None),
    ],
)
def test_a_row_of_status_differs_when_it_is_of_the_site_beside_its_file(
    part: str, state: str, told: tuple[str, bool] | None
) -> None:
    found = [(one.layer, one.unknown) for one in beside.of_status(PLAN, {part: [row("one", state)]})]
    assert found == ([told] if told else [])


def test_an_old_backup_differs_where_a_timer_makes_them() -> None:
    (one,) = beside.of_status(DAILY, {"backups": [row("etcd", "warning")]})
    assert (one.layer, one.host) == ("backups", "etcd")


def item(name: str, *managers: tuple[str, str, str], release: str = "") -> dict[str, Any]:
    fields = [
        {"manager": manager, "time": time, **({"subresource": of} if of else {})} for manager, time, of in managers
    ]
    notes = {"meta.helm.sh/release-name": release} if release else {}
    return {"metadata": {"name": name, "namespace": "openstack", "annotations": notes, "managedFields": fields}}


def test_the_last_writer_but_us_and_the_status_is_told() -> None:
    written = item(
        "nova", ("helm", "2026-11-29T09:00:00Z", ""), ("kubectl-edit", "2026-11-29T08:00:00Z", ""),
        ("kubectl", "2026-11-29T08:30:00Z", "scale"), ("kube-controller-manager", "2026-11-29T10:00:00Z", "status"),
    )  # fmt: skip
    assert beside.changed_by(written) == "kubectl, 2026-11-29T08:30:00Z"
    ours = [(manager, "2026-11-29T09:00:00Z", "") for manager in ("helm", "groundup", "groundup-upgrade")]
    assert beside.changed_by(item("nova", *ours)) == ""


class Cluster:
    """Two deployments of OpenStack's namespace, one of nobody, and a DaemonSet of the pod network."""

    def __init__(self, *_: Any, **__: Any) -> None:
        edited = ("kubectl-edit", "2026-11-29T08:00:00Z", "")
        self.deployments = [
            item("nova-api", edited, release="nova"), item("cowboy", edited), item("old", edited, release="gone"),
        ]  # fmt: skip

    def discover(self) -> Discovery:
        kinds = {("apps/v1", "Deployment"): "deployments", ("apps/v1", "DaemonSet"): "daemonsets",
                 ("networking.k8s.io/v1", "NetworkPolicy"): "networkpolicies"}  # fmt: skip
        resources = {key: (plural, True) for key, plural in kinds.items()}
        return Discovery(version="v1.36.3", resources={**resources, ("x/v1", "Deployment"): ("others", True)})

    def find(self, path: str) -> dict[str, Any] | None:
        known = {
            "/apis/apps/v1/namespaces/openstack/deployments/nova-api": self.deployments[0],
            "/apis/networking.k8s.io/v1/namespaces/openstack/networkpolicies/default-deny": item(
                "default-deny", ("groundup", "2026-11-29T07:00:00Z", "")
            ),
            "/apis/apps/v1/namespaces/kube-flannel/daemonsets/kube-flannel-ds": item(
                "kube-flannel-ds", ("k9s", "2026-11-29T06:00:00Z", "")
            ),
        }
        return known.get(path)

    def get(self, path: str) -> dict[str, Any]:
        return {"items": self.deployments if path.endswith("/openstack/deployments") else []}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").touch()
    monkeypatch.setattr(beside, "kubeconfig_path", lambda _site: tmp_path / "kubeconfig")
    monkeypatch.setattr(beside, "Api", Cluster)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("what", "by"),
    [
        ("nova: Deployment/nova-api", "kubectl-edit, 2026-11-29T08:00:00Z"),
        ("DaemonSet kube-flannel/kube-flannel-ds", "k9s, 2026-11-29T06:00:00Z"),
        ("NetworkPolicy openstack/default-deny", ""),
        ("nova: Deployment/gone", ""),
        ("nova: Unheard/of", ""),
        ("write /etc/hosts", ""),
    ],
)
def test_who_changed_an_object_of_the_cluster(what: str, by: str) -> None:
    rows = beside.asked(PLAN, [DriftRow(layer="openstack", host="localhost", what=what)])
    assert rows[0].by == by


@pytest.mark.usefixtures("cluster")
def test_workloads_of_no_release_differ() -> None:
    rows = beside.asked(PLAN, [])
    assert [(one.what, one.by) for one in rows] == [
        ("Deployment/cowboy of no release of the site", "kubectl-edit, 2026-11-29T08:00:00Z"),
        ("Deployment/old of release gone, which is not in the site file", "kubectl-edit, 2026-11-29T08:00:00Z"),
    ]


def test_a_site_without_a_cluster_is_not_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    silent = DriftRow(layer="host", host="h", what="no route", unknown=True)
    assert beside.asked(PLAN, [silent]) == [silent]
