"""Keys of overrides that a built-in chart does not know are told, with the one that was meant; others are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

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
        {"conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": 4}}, "policy": {"x": "role:admin"}, "my_file": "text"}},
        {"pod": {"replicas": {"osapi": 3}, "resources": {"enabled": True}, "tolerations": {}, "probes": {}}},
        {"endpoints": {"my_own": {"hosts": {}}}},
        {"labels": {"osapi": {"node_selector_key": "x"}}},
        {"images": {"pull_policy": "Always"}},
        {},
    ],
)
def test_what_the_chart_has_and_what_is_below_conf_is_not(plan_of: Callable[..., Plan], values: dict[str, Any]) -> None:
    assert told(plan_of("cloud", overridden(values))) == {}


def test_charts_of_the_sites_own_are_not_judged_by_ours(plan_of: Callable[..., Plan]) -> None:
    assert told(plan_of("cloud", overridden({"config": {}}, **{"openstack/charts": "/srv/charts"}))) == {}


def test_values_made_again_do_not_tell_it_twice(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("cloud", overridden({"config": {}}))
    assert with_values(plan).findings == plan.findings


def test_every_release_knows_its_own_values(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("ha")
    overrides = {one.name: {"why": "a test", "values": dict(one.values)} for one in plan.openstack.releases}
    assert told(plan_of("ha", {"openstack/overrides": overrides})) == {}
