"""Rules follow from the plan, and each alert says layer, object, what, why and what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import PROOF
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.cloud_state import CLOUD_STATE
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.jobs import JOBS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.members import MEMBERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.rules import rules
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import GONE

from .sites import WHOLE, planned


def expressions(plan: Plan, name: str) -> list[str]:
    """Return the expressions of the alerts ``name``."""
    return [one["expr"] for one in _every(plan) if one["alert"] == name]


def _every(plan: Plan) -> list[dict[str, Any]]:
    return [one for layer in rules(plan).values() for group in layer["groups"] for one in group["rules"]]


def test_each_alert_of_the_table_is_in_the_file_of_its_layer() -> None:
    found = rules(planned("ha", **WHOLE))
    for name, alert in ALERTS.items():
        assert name in {one["alert"] for group in found[alert.layer]["groups"] for one in group["rules"]}


def test_an_alert_says_layer_severity_object_and_the_three_lines_of_a_fault() -> None:
    for one in _every(planned("ha", **WHOLE)):
        assert set(one["annotations"]) == {"what", "why", "remedy"}
        assert all(text and "\n" not in text for text in one["annotations"].values())
        assert {"layer", "severity"} <= set(one["labels"])
        assert one["labels"]["site"] == "ha"
        # From the series, or written.
        named = one["expr"].startswith(("label_replace(", "(label_replace("))
        grouped = None if named else re.search(r"sum by \((\w+)\)|\b(?<!\) )(sum|max|count)\(", one["expr"])
        written = bool(grouped and grouped[1] != "object") or one["alert"] in (
            "BackupOld",
            "SiteDrifted",
            "DriftUnknown",
            "LogsMissing",
            "CapacityFull",
            "CapacityEnding",
            "HealFailed",
            "HealRepeated",
            PROOF,
        )
        assert ("object" in one["labels"]) == written


def test_a_layer_that_the_site_lacks_has_no_rules() -> None:
    every = {"host", "kubernetes", "storage", "network", "openstack", "hypervisor", "monitoring"}
    assert set(rules(planned("ha"))) == every
    assert set(rules(planned("lab"))) == {"host", "kubernetes", "openstack", "monitoring"}


def test_the_public_names_that_are_watched_are_the_sites() -> None:
    (expression,) = expressions(planned("lab"), "PublicNameDown")
    assert 'proxy=~"identity"' in expression
    assert expressions(planned("lab", openstack__services=[]), "PublicNameDown") == []


@pytest.mark.parametrize(("members", "lost"), [(2, 1), (3, 1), (5, 2)])
def test_the_quorum_is_at_risk_when_one_more_lost_member_ends_it(members: int, lost: int) -> None:
    plan = planned("ha", machines__control__names=GONE, machines__control__count=members)
    (found,) = expressions(plan, "EtcdQuorumAtRisk")
    assert found.endswith(f" >= {lost}")


def test_a_single_member_has_no_quorum_to_lose() -> None:
    assert expressions(planned("lab"), "EtcdQuorumAtRisk") == []


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        ("GaleraMemberOut", "mariadb-server"),
        ("RabbitmqMemberOut", "rabbitmq-rabbitmq"),
        ("MemcachedOut", "memcached-memcached"),
    ],
)
def test_members_that_are_missed_are_the_plans(name: str, workload: str) -> None:
    for site, members in (("ha", 3), ("lab", 1)):
        (found,) = expressions(planned(site), name)
        assert [found.count(f'"{workload}-{number}"') for number in range(members + 1)] == [1] * members + [0]


def test_a_single_member_of_rabbitmq_is_parted_from_nobody() -> None:
    assert expressions(planned("lab"), "RabbitmqPartition") == []
    assert len(expressions(planned("ha"), "RabbitmqPartition")) == 1


@pytest.mark.parametrize("name", [*MEMBERS, *CLOUD_STATE])
def test_members_of_charts_that_are_not_ours_have_no_alerts(name: str) -> None:
    assert len(expressions(planned("ha"), name)) == 1
    assert expressions(planned("ha", openstack__charts="https://charts.example.com"), name) == []


@pytest.mark.parametrize("name", CLOUD_STATE)
def test_a_site_without_nova_and_cinder_has_no_alerts_of_them(name: str) -> None:
    assert expressions(planned("lab"), name) == []


def test_backups_are_too_old_only_where_a_timer_makes_them() -> None:
    assert expressions(planned("ha"), "BackupOld") == []
    assert len(expressions(planned("ha", **WHOLE), "BackupOld")) == 1


def test_the_copy_of_binary_logs_is_too_old_only_where_there_is_one() -> None:
    assert expressions(planned("ha"), "BinaryLogsOld") == []
    assert len(expressions(planned("ha", **WHOLE), "BinaryLogsOld")) == 1


def test_drift_is_told_only_where_a_timer_looks_for_it() -> None:
    for name in ("SiteDrifted", "DriftUnknown", "DriftOld"):
        assert expressions(planned("ha"), name) == []
        assert len(expressions(planned("ha", **WHOLE), name)) == 1


def test_room_is_told_only_where_a_timer_asks_for_it_by_the_sites_own_bounds() -> None:
    for name in ("CapacityFull", "CapacityEnding", "CapacityOld"):
        assert expressions(planned("ha"), name) == []
    plan = planned("ha", monitoring__capacity={"percent": 75, "days": 14})
    (full,), (ending,) = expressions(plan, "CapacityFull"), expressions(plan, "CapacityEnding")
    assert full.endswith("> 75")
    assert "[7d], 14 * 86400)" in ending


def test_a_host_that_is_asked_rarely_is_not_taken_for_late() -> None:
    for interval, late in ((15, 150), (300, 720)):
        (told,) = expressions(planned("ha", monitoring__interval=interval), "HostMetricsOld")
        assert f"> time() - {late} unless" in told


def test_dead_hypervisors_are_told_only_where_a_timer_looks_for_them() -> None:
    for name in ("HypervisorFailed", "HypervisorLookOld"):
        assert expressions(planned("ha"), name) == []
        assert len(expressions(planned("ha", openstack__hypervisor_failure={"action": "tell"}), name)) == 1


def test_targets_that_nobody_asks_any_more_are_missed_by_their_number() -> None:
    plan = planned("ha", **WHOLE)
    missed = expressions(plan, "DataMissing")
    assert len(missed) == len(JOBS)
    assert f'(count(up{{job="node"}}) or vector(0)) < {len(plan.hosts)}' in missed


def test_one_alert_always_fires() -> None:
    assert expressions(planned("ha"), PROOF) == ["vector(1)"]


def test_a_rack_is_down_when_most_of_its_hosts_are_beside_the_one_that_tells_it() -> None:
    assert expressions(planned("ha"), "RackDown") == [], "no host of it has a rack"
    (found,) = expressions(planned("lab"), "RackDown")  # four machines, the seed tells
    assert (
        found == 'label_replace(count by (rack) (up{job="node",rack=~"r1"} == 0) >= 2, "object", "$1", "rack", "(.+)")'
    )
    (found,) = expressions(planned("rack"), "RackDown")  # r3: the seed and two more
    assert re.findall(r'rack=~"([^"]+)"} == 0\) >= (\d+)', found) == [("r3", "2"), ("r1|r2", "7")]
    assert expressions(planned("lab", machines__worker__count=0, machines__control__rack="r2"), "RackDown") == []


def test_a_rack_is_told_before_its_hosts() -> None:
    rules_of_hosts = {one["alert"]: one["for"] for one in rules(planned("lab"))["host"]["groups"][0]["rules"]}
    assert list(rules_of_hosts)[:2] == ["RackDown", "HostDown"]
    assert (rules_of_hosts["RackDown"], rules_of_hosts["HostDown"]) == ("30s", "45s")
