"""Certificates by kind, age of backups, versions beside the site file's, machines on their way."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import expiry
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import MachineCard, WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status import upkeep
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.rows import StatusRow, run_layer, spoken_age

NOW = datetime(2026, 11, 28, 1, 0, tzinfo=UTC)


def test_the_earliest_end_of_a_kind_counts(plan: Plan) -> None:
    found = [("kubelets", "a of worker-1", 200), ("kubelets", "a of worker-2", 29), ("the control plane", "x of c", 3)]
    found += [("the control plane", "y of c", -2)]
    rows = upkeep.certificate_rows(plan, found, warn_below=30, reachable=False)
    assert [(row.name, row.state, row.what) for row in rows] == [
        ("the control plane", "broken", "ended 2 days ago (y of c)"),
        ("kubelets", "warning", "ends in 29 days (a of worker-2)"),
    ]
    assert all(row.remedy for row in rows)
    assert upkeep.certificate_rows(plan, [], warn_below=30, reachable=False) == []


def test_a_certificate_of_the_operators_own_is_renewed_by_no_run(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "days_of_site", lambda *_, **__: {expiry.EDGE: 20})
    own = dataclasses.replace(plan, edge=dataclasses.replace(plan.edge, certificate="PEM"))
    remedies = [upkeep.certificate_rows(one, [], warn_below=30, reachable=True)[0].remedy for one in (plan, own)]
    assert ["any run" in one for one in remedies] == [True, False]
    assert "groundup.cloud.certificate" in remedies[1]


def test_versions_are_held_against_the_site_file(plan: Plan) -> None:
    release = plan.openstack.release
    app = StatusRow(name="nova", state="ok", what="", facts={"layer": "openstack", "app_version": release})
    base = StatusRow(name="mariadb", state="ok", what="", facts={"layer": "openstack", "app_version": "11.8.3"})
    own = StatusRow(name="hello", state="ok", what="", facts={"layer": "openstack", "app_version": "2024.2"})
    node: dict[str, Any] = {"status": {"nodeInfo": {"kubeletVersion": f"v{plan.kubernetes.version}"}}}
    parts = {
        "hypervisor": {"environment": f"{release}-0123456789ab"},
        "ceph": {"versions": ["ceph version 18.2.7 (abc) reef (stable)"]},
    }
    answered: list[dict[str, Any]] = [{"parts": parts, "debian": plan.host.debian_releases[0]}]
    releases = [app, base, own]
    rows = {row.name: row for row in upkeep.version_rows(plan, nodes={"a": node}, releases=releases, answered=answered)}
    assert {row.state for row in rows.values()} == {"ok"}
    assert (rows["OpenStack"].what, rows["Ceph"].what) == (release, "18.2.7")
    old = [{"parts": {"hypervisor": {"environment": "2025.2-0123456789ab"}}, "debian": "11"}]
    rows = {row.name: row for row in upkeep.version_rows(plan, nodes={}, releases=[app], answered=old)}
    assert (rows["OpenStack"].state, rows["Debian"].state, rows["Kubernetes"].state) == ("warning", "warning", "ok")
    assert rows["OpenStack"].what == f"2025.2, {release}; the site file's is {release}"
    upgrade = run_layer("openstack_upgrade")
    assert rows["OpenStack"].remedy == upgrade, "a usual run of the layer or site refuses it"
    both = dataclasses.replace(app, facts={**app.facts, "app_version": f"2025.2, {release}"})
    (row,) = (
        one for one in upkeep.version_rows(plan, nodes={}, releases=[both], answered=[]) if one.name == "OpenStack"
    )
    assert (row.what.partition(";")[0], row.remedy) == (f"2025.2, {release}", upgrade)


def test_nodes_on_their_way_to_another_version_name_the_upgrade(plan: Plan) -> None:
    """The plan goes by the live version then."""
    live = dataclasses.replace(plan, kubernetes=dataclasses.replace(plan.kubernetes, upgrading=("1.37.2",)))
    nodes = {name: {"status": {"nodeInfo": {"kubeletVersion": name}}} for name in ("v1.36.3", "v1.37.2")}
    row = upkeep.version_rows(live, nodes=nodes, releases=[], answered=[])[0]
    assert row.what == f"1.36.3, 1.37.2; the oldest API server's is {plan.kubernetes.version}"
    assert (row.state, row.remedy) == ("warning", "run the playbook groundup.cloud.kubernetes_upgrade")


@pytest.mark.parametrize(
    ("used", "state", "what"),
    [
        ({"2026-11-28-b"}, "ok", "2026-11-28-b"),
        ({"2026-11-28-b", ""}, "ok", "2026-11-28-b"),  # a host with another source
        ({"2026-11-28-b", "13"}, "warning", "13, 2026-11-28-b; the seed's is 2026-11-28-b"),
        ({""}, "ok", "2026-11-28-b by the seed; nothing that answers runs it"),
    ],
)
def test_hosts_of_another_snapshot_of_packages_are_told(plan: Plan, used: set[str], state: str, what: str) -> None:
    answered: list[dict[str, Any]] = [
        {"parts": {}, "debian": plan.host.debian_releases[0], "snapshot": one} for one in used
    ]
    rows = upkeep.version_rows(plan, nodes={}, releases=[], answered=answered, snapshots=["2026-11-28-b"])
    (row,) = (one for one in rows if one.name == "OS packages")
    assert (row.state, row.what) == (state, what)
    assert bool(row.remedy) is (state == "warning")
    rows = upkeep.version_rows(plan, nodes={}, releases=[], answered=answered)
    assert "OS packages" not in {one.name for one in rows}, "its seed has no snapshots, or it has no seed"


def test_a_host_that_patching_left_in_maintenance_is_not_forgotten(plan: Plan, state: Path) -> None:
    (state / "patch").mkdir(parents=True)
    (state / "patch/worker-1.json").write_text("{}")
    (row,) = (one for one in upkeep.version_rows(plan, nodes={}, releases=[], answered=[]) if one.name == "maintenance")
    assert (row.state, "worker-1" in row.what, "groundup.cloud.patch" in row.remedy) == ("warning", True, True)


def test_machines_on_their_way_are_told_and_others_not(plan: Plan, state: Path) -> None:
    def journal(name: str) -> Journal:
        return Journal(state / f"metal/{name}.jsonl")

    assert upkeep.machine_rows(plan) == []
    card = MachineCard(what="it has no disk that fits", why="w", remedy="see its disks")
    journal("worker-1").note(WayStep(state="failed", verb="fail", card=card))
    journal("worker-2").note(WayStep(state="serving", verb="done"))
    rows = upkeep.machine_rows(plan)
    assert [(row.name, row.state, row.remedy) for row in rows] == [("worker-1", "broken", "see its disks")]


@pytest.mark.parametrize(("seconds", "text"), [(61, "01:01 min"), (7200, "2 h"), (200000, "2 days")])
def test_ages_are_short(seconds: float, text: str) -> None:
    assert spoken_age(seconds) == text
