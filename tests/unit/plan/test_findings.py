"""Every mistake a site file can show is found, by its name, at its key, with what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ansible_collections.groundup.cloud.plugins.plugin_utils.plan as package
import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.plan import (
    certificate_cases,
    cluster_cases,
    extra_cases,
    identity_cases,
    machine_cases,
    metal_cases,
    monitoring_cases,
    pool_cases,
    provider_cases,
    public_cases,
    resource_cases,
    rules_cases,
    served_cases,
    storage_cases,
    wiring_cases,
)

CASES = [
    case
    for subject in (
        machine_cases,
        metal_cases,
        monitoring_cases,
        pool_cases,
        wiring_cases,
        cluster_cases,
        served_cases,
        extra_cases,
        identity_cases,
        storage_cases,
        certificate_cases,
        provider_cases,
        public_cases,
        resource_cases,
        rules_cases,
    )
    for case in subject.CASES
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[2]}-{n}" for n, case in enumerate(CASES)])
def test_a_mistake_is_found_at_its_key(
    plan_of: Callable[..., Plan], case: tuple[str, str, str, dict[str, Any], str]
) -> None:
    name, severity, base, changes, key = case
    findings = [finding for finding in plan_of(base, changes).findings if finding.name == name]
    assert findings, f"{name} was not found"
    assert severity in {finding.severity for finding in findings}
    assert any(key in where for finding in findings for where in finding.where), [finding.where for finding in findings]
    assert all(finding.what and finding.why and finding.remedy for finding in findings)


def test_a_region_is_made_of_what_this_version_builds_and_says_what_it_needs(plan_of: Callable[..., Plan]) -> None:
    every = {finding.name: finding for finding in plan_of("region").findings}
    assert set(every) == {"hardware-needed", "hostpath-in-production", "updates-by-site"}
    assert {finding.severity for finding in every.values()} == {"info"}
    assert "1 x region-seed: 8 cores, 32 GiB, 10 Gbit/s;" in every["hardware-needed"].what


def test_a_seed_among_the_control_hosts_is_told_how_it_is_written(plan_of: Callable[..., Plan]) -> None:
    groups = {"control": {"count": 3, "roles": ["control", "seed"]}, "worker": {"count": 2}}
    (found,) = (one for one in plan_of("lab", {"machines": groups}).findings if one.name == "several-seeds")
    assert found.remedy.endswith("make one of them a group of its own, with roles: [control, seed]")


def test_of_a_ceph_of_others_hosts_need_the_client_and_no_daemon(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {**storage_cases.OTHERS, "hosts/debian_releases": ["12"]})
    (found,) = (one for one in plan.findings if one.name == "ceph-needs-debian")
    assert "client" in found.why
    assert "daemons" not in found.why


def test_of_a_release_that_is_not_known_nothing_is_said_of_its_charts(plan_of: Callable[..., Plan]) -> None:
    changes = {"openstack/release": "2025.2", "openstack/charts": "/srv/charts"}
    found = {finding.name for finding in plan_of("cloud", changes).findings}
    assert "version-not-in-matrix" in found
    assert "release-without-charts" not in found, "OpenStack-Helm has charts of 2025.2"


def test_what_this_version_does_not_build_is_told(plan_of: Callable[..., Plan]) -> None:
    changes = {
        "networks/cluster": {"cidr": "10.96.12.0/22", "vlan": 99},
        "machines/hypervisor/bmc/protocol": "redfish-virtual-media",
    }
    found = [finding for finding in plan_of("region", changes).findings if finding.name == "not-in-this-version"]
    assert {(finding.name, finding.severity) for finding in found} == {("not-in-this-version", "warning")}
    said = [(finding.where, finding.what.partition(": ")[2].partition(",")[0]) for finding in found]
    assert said == [
        (("machines",), "machines by virtual media without a MAC address"),
        (("networks.cluster",), "a network of its own for pods' packets"),
    ]


def test_what_takes_many_machines_is_an_error_in_a_region_and_none_in_a_rack(plan_of: Callable[..., Plan]) -> None:
    one_place = {
        "machines/control/racks": ["c1"],
        "machines/control/roles": ["control", "hypervisor"],
        "machines/control/hardware": "edge-node",
    }
    lost = {"quorum-in-one-failure-domain", "tenants-on-infrastructure", "hardware-too-small"}
    errors = {
        profile: {
            one.name for one in plan_of("region", one_place | {"profile": profile}).findings if one.severity == "error"
        }
        for profile in ("rack", "region")
    }
    assert lost <= errors["region"]
    assert lost & errors["rack"] == set()


@pytest.mark.parametrize("base", ["lab", "lab-ha"])
def test_example_sites_have_no_findings(plan_of: Callable[..., Plan], base: str) -> None:
    assert plan_of(base).findings == ()


def test_every_finding_has_a_case_here() -> None:
    source = "\n".join(path.read_text() for path in Path(package.__file__).parent.rglob("*.py"))
    named = set(
        re.findall(r'(?:error|warning|info|finding|_used_twice|_unknown)\(\s*"([a-z]+(?:-[a-z0-9]+)+)"', source)
    )
    named |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)" if (?:together|dashboard) else "[a-z-]+"', source))
    named |= set(re.findall(r'if (?:together|dashboard) else "([a-z-]+)"', source))
    assert len(named) > 60
    assert named - {case[0] for case in CASES} == set()


def test_the_storage_vlan_inside_the_provider_range_is_refused_with_both_names(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(
        "region",
        {"networks/storage/vlan": 120, "networks/provider/vlan_range": "100-3999", "networks/provider/vlan": 9},
    )
    (finding,) = [f for f in plan.findings if f.name == "vlan-in-tenant-range" and "networks.storage.vlan" in f.where]
    assert finding.where == ("networks.storage.vlan", "networks.provider.vlan_range")
    assert "VLAN 120 of storage is inside 100-3999" in finding.what


def test_a_rack_that_is_full_is_told_once_and_not_as_a_name_without_a_number(plan_of: Callable[..., Plan]) -> None:
    found = plan_of("region", {"machines/hypervisor/per_rack": 66}).findings
    assert "machine-without-number" not in {one.name for one in found}
    (finding,) = [one for one in found if one.name == "rack-block-full"]
    assert finding.what == "hypervisor-r1-65 and 15 more have no address: a rack's block has 64 places"


def test_a_seed_may_be_called_registry(plan_of: Callable[..., Plan]) -> None:
    seed = {"names": ["registry"], "machines": {"registry": {"number": 1}}}
    assert plan_of("lab", {"machines/seed": seed}).findings == ()


def test_errors_come_first(plan_of: Callable[..., Plan]) -> None:
    changes = {
        "machines/control/count": 2,
        "kubernetes/version": "1.35.0",
        "openstack/services": ["keystone", "manila"],
    }
    findings = plan_of("lab", changes).findings
    assert [finding.severity for finding in findings] == sorted(
        (finding.severity for finding in findings), key=("error", "warning", "info").index
    )
