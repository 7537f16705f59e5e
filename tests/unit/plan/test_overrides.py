"""Keys of overrides that a built-in chart does not know are told, with the one that was meant; others are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import remote_findings, with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.chart_files import ChartFile, read_chart
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.findings.overrides import OPENSTACK_HELM, compared
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import of_kind
from ansible_collections.groundup.cloud.tests.contract.keys import read

from .conftest import ROOT

NAME = "override-unknown-key"


def told(plan: Plan) -> dict[str, str]:
    return {one.where[0]: one.remedy for one in plan.findings if one.name == NAME}


def overridden(values: dict[str, Any], release: str = "nova", **more: Any) -> dict[str, Any]:
    return {"openstack/overrides": {release: {"why": "a test", "values": values}}, **more}


@pytest.mark.parametrize(
    ("values", "key", "meant"),
    [
        ({"config": {"nova": {}}}, "config", "conf"),
        ({"Conf": {}}, "Conf", "conf"),
        ({"pod": {"replica": {"osapi": 2}}}, "pod.replica", "replicas"),
        ({"image": {"tags": {}}}, "image", "images"),
        ({"manifest": {}}, "manifest", "manifests"),
    ],
)
def test_a_misspelt_key_is_told_with_the_one_that_was_meant(
    plan_of: Callable[..., Plan], values: dict[str, Any], key: str, meant: str
) -> None:
    found = told(plan_of("cloud", overridden(values)))
    assert list(found) == [f"openstack.overrides.nova.values.{key}"]
    assert f"'{meant}'" in found[f"openstack.overrides.nova.values.{key}"]


@pytest.mark.parametrize(
    "values",
    [
        {
            "conf": {
                "nova": {"DEFAULT": {"cpu_allocation_ratio": 4}},
                "policy": {"admin_api": "role:admin"},
                "my_file": "text",
            }
        },
        {"pod": {"replicas": {"osapi": 3}, "resources": {"enabled": True}, "tolerations": {}, "probes": {}}},
        {"endpoints": {"my_own": {"hosts": {}}}},
        {"labels": {"osapi": {"node_selector_key": "x"}}},
        {"images": {"pull_policy": "Always"}},
        {"conf": {"policy": "x: role:admin", "nova": "[DEFAULT]", "logging": {"loggers": {}}}},  # a map or its text
        {},
    ],
)
def test_what_the_chart_has_and_what_is_below_conf_is_not(plan_of: Callable[..., Plan], values: dict[str, Any]) -> None:
    found = plan_of("cloud", overridden(values)).findings
    assert [one for one in found if one.name.startswith("override-")] == []


def test_charts_of_the_sites_own_are_not_judged_by_ours(plan_of: Callable[..., Plan]) -> None:
    assert told(plan_of("cloud", overridden({"config": {}}, **{"openstack/charts": "/srv/charts"}))) == {}


def test_values_made_again_do_not_tell_it_twice(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("cloud", overridden({"config": {}}))
    assert with_values(plan).findings == plan.findings


def test_every_release_knows_its_own_values(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("ha")
    overrides = {one.name: {"why": "a test", "values": dict(one.values)} for one in plan.openstack.releases}
    assert told(plan_of("ha", {"openstack/overrides": overrides})) == {}


SAMPLES = {"string": "x", "number": 1, "boolean": True, "list": ["x"], "null": None, "map": {}}


def sample(keys: Any) -> Any:
    """Return values of the types in ``keys``."""
    return SAMPLES[keys] if isinstance(keys, str) else {key: sample(value) for key, value in keys.items()}


@pytest.fixture(scope="session")
def real() -> dict[str, dict[str, Any]]:
    """Values with the keys and types of OpenStack-Helm's charts, by chart."""
    return {path.stem: sample(read(path)["keys"]) for path in (ROOT / "tests/contract/data/charts").glob("*.json")}


@pytest.fixture(scope="session")
def charts(tmp_path_factory: pytest.TempPathFactory, real: dict[str, dict[str, Any]]) -> str:
    """A directory of charts with such values."""
    home = tmp_path_factory.mktemp("charts")
    for name, values in real.items():
        (home / name / "templates").mkdir(parents=True)
        (home / name / "Chart.yaml").write_text(json.dumps({"name": name, "version": "2026.1.0+abc"}))
        (home / name / "values.yaml").write_text(yaml.safe_dump(values))
    (home / "nova/templates/x.yaml").write_text("{{ .Values.pod.resources.jobs.only_in_templates }}")
    return str(home)


@pytest.mark.parametrize(
    ("values", "key", "meant"),
    [
        ({"config": {"nova": {}}}, "config", "conf"),
        ({"conf": {"nvoa": {"DEFAULT": {}}}}, "conf.nvoa", "nova"),
        ({"manifests": {"deployment_api_osap": True}}, "manifests.deployment_api_osap", "deployment_api_osapi"),
        ({"pod": {"replicas": {"osap": 2}}}, "pod.replicas.osap", "osapi"),
        ({"images": {"tags": {"nova_ap": "x"}}}, "images.tags.nova_ap", "nova_api"),
        ({"network": {"osapy": {}}}, "network.osapy", "osapi"),
    ],
)
def test_a_key_that_openstack_helms_chart_does_not_have_is_told(
    plan_of: Callable[..., Plan], charts: str, values: dict[str, Any], key: str, meant: str
) -> None:
    found = told(plan_of("cloud", overridden(values, **{"openstack/charts": charts})))
    assert list(found) == [f"openstack.overrides.nova.values.{key}"]
    assert f"'{meant}'" in found[f"openstack.overrides.nova.values.{key}"]


@pytest.mark.parametrize(
    "values",
    [
        {
            "conf": {
                "nova": {"DEFAULT": {"cpu_allocation_ratio": 4}, "my_section": {}},
                "policy": {"admin_api": "role:admin"},
            }
        },
        {"endpoints": {"my_own": {"hosts": {}}}, "annotations": {"pod": {"mine": {}}}},
        {"pod": {"labels": {"mine": {"include": True}}, "mounts": {"nova_compute": {"nova_compute": {}}}}},
        {"pod": {"resources": {"jobs": {"only_in_templates": {"limits": {"cpu": "1"}}}}}},
        {"secrets": {"identity": {"mine": "x"}}, "bootstrap": {"structured": {"flavors": {"options": {"a": {}}}}}},
        {"conf": {"nova": None}, "pod": {"replicas": {"osapi": {"$secret": "x/y"}}}},
    ],
)
def test_names_that_nobody_knows_beforehand_are_not(
    plan_of: Callable[..., Plan], charts: str, values: dict[str, Any]
) -> None:
    assert [one for one in plan_of("cloud", overridden(values, **{"openstack/charts": charts})).findings
            if one.name.startswith("override-")] == []  # fmt: skip


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"pod": "x"}, "pod"),
        ({"conf": {"nova": "[DEFAULT]"}}, "conf.nova"),
        ({"manifests": {"deployment_api_osapi": {"enabled": True}}}, "manifests.deployment_api_osapi"),
        ({"images": {"tags": ["a"]}}, "images.tags"),
    ],
)
def test_a_value_of_another_kind_is_told(
    plan_of: Callable[..., Plan], charts: str, values: dict[str, Any], path: str
) -> None:
    found = plan_of("cloud", overridden(values, **{"openstack/charts": charts})).findings
    assert [one.where[0] for one in found if one.name == "override-wrong-type"] == [
        f"openstack.overrides.nova.values.{path}"
    ]


def test_charts_of_another_version_do_not_judge(plan_of: Callable[..., Plan], charts: str) -> None:
    versions: dict[str, Any] = {"openstack/chart_versions": {"nova": "2026.1.7"}}
    assert told(plan_of("cloud", overridden({"config": {}}, **{"openstack/charts": charts}, **versions))) == {}


def test_what_we_give_the_real_charts_is_never_told(plan_of: Callable[..., Plan], real: dict[str, Any]) -> None:
    """Whatever of it their values have: what only their templates name is not in the facts."""
    services = {"openstack/services": [one.name for one in of_kind("service")], "openstack/charts": "/nowhere"}
    found = []
    for one in plan_of("cloud", services).openstack.releases:
        chart = ChartFile(name=one.chart, version="", values=real[one.chart], used=(), charts=(), missing=())
        said = compared("values", one.name, one.values, chart, ours={}, free=OPENSTACK_HELM)
        found += [f"{one.name} {finding.where[0]}" for finding in said]
    names = ("resources.central", "resources.mdns", "resources.producer", "resources.worker")
    assert found == [
        "designate values.manifests.job_image_repo_sync",
        *(f"designate values.pod.{name}" for name in names),
    ]


def test_of_charts_that_only_helm_fetches_the_rollout_tells_it(
    plan_of: Callable[..., Plan], real: dict[str, Any]
) -> None:
    plan = plan_of("cloud", overridden({"config": {}}, **{"openstack/charts": "https://charts.example.org"}))
    assert told(plan) == {}
    (found,) = remote_findings(plan, lambda release: real[release.chart])
    assert found.where == ("openstack.overrides.nova.values.config",)
    assert list(remote_findings(plan_of("cloud"), lambda _: pytest.fail("asked"))) == []


@pytest.mark.parametrize(
    ("template", "unknown"),
    [
        ("{{ .Values.known }}", ["a-key", "map.more", "other"]),
        ('{{ index .Values "a-key" "below" }}', ["map.more", "other"]),
        ("{{ toYaml .Values }}", []),
        ("{{ $all := $.Values }}", []),
        ('{{ default .Values.map "word" }}', ["a-key", "other"]),
    ],
)
def test_templates_tell_which_values_are_used(tmp_path: Path, template: str, unknown: list[str]) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("{name: own, version: 1.0.0}")
    (tmp_path / "values.yaml").write_text("map: {known: 1}")
    (tmp_path / "templates/x.yaml").write_text(template)
    values = {"a-key": {"below": 1}, "other": 1, "map": {"more": 1}}
    found = compared("values", "own", values, read_chart(tmp_path), ours={})
    assert sorted(one.where[0].removeprefix("values.") for one in found) == unknown


@pytest.mark.parametrize(
    ("release", "rules"),
    [
        ("nova", {"os_compute_api:servers:create": "role:manager and project_id:%(project_id)s"}),
        ("nova", {"ours": "role:manager", "os_compute_api:servers:delete": "rule:ours or rule:context_is_admin"}),
        ("neutron", {"get_network:mtu": "role:manager"}),  # of an attribute
        ("cinder", {"volume:create": "rule:xena_system_admin_or_project_member"}),
    ],
)
def test_rules_that_a_service_asks_for_and_ones_own_are_no_mistakes(
    plan_of: Callable[..., Plan], release: str, rules: dict[str, str]
) -> None:
    found = plan_of("cloud", overridden({"conf": {"policy": rules}}, release)).findings
    assert [one for one in found if one.name == "policy-unknown-rule"] == []
