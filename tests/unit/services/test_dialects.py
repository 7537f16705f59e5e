"""Charts of the tag 2026.1.0, of its branch and our own call a few values differently."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import for_charts, site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import dialects

ROOT = Path(__file__).parents[3]
NOVA = {
    "endpoints": {"oslo_db": {"path": "/nova_api"}, "oslo_db_cell0": {"path": "/0"}, "oslo_db_cell1": {"path": "/1"}}
}
CINDER: dict[str, Any] = {"pod": {"replicas": {"backup": 1}}, "conf": {}}
NEUTRON = {"conf": {"ovn_agent": {"DEFAULT": {"host": "a"}}, "neutron": {}}}


def test_the_cells_database_is_the_first_where_the_apis_has_a_name_of_its_own() -> None:
    tag: dict[str, Any] = {"endpoints": {"oslo_db": {}, "oslo_db_api": {}, "oslo_db_cell0": {}}}
    wanted = {"oslo_db": {"path": "/1"}, "oslo_db_api": {"path": "/nova_api"}, "oslo_db_cell0": {"path": "/0"}}
    assert dialects.nova(NOVA, tag) == {"endpoints": wanted}


def test_the_agent_before_has_what_neutrons_ovn_agent_would() -> None:
    wanted = {"neutron": {}, "ovn_metadata_agent": {"DEFAULT": {"host": "a"}}}
    assert dialects.neutron(NEUTRON, {"conf": {"ovn_metadata_agent": {}}}) == {"conf": wanted}


def test_cinders_root_has_what_it_needs_and_a_site_may_say_otherwise() -> None:
    def backup(values: Any) -> Any:
        return values["pod"]["security_context"]["cinder_backup"]["container"]["cinder_backup"]

    chart = {"conf": {"cinder_sudoers": "cinder ALL = (root) NOPASSWD: ..."}}
    found = dialects.cinder(CINDER, chart)
    assert "DAC_READ_SEARCH" in backup(found)["capabilities"]["add"]
    assert "#42424 ALL = (root)" in found["conf"]["cinder_sudoers"]
    assert found["pod"]["replicas"] == CINDER["pod"]["replicas"]
    assert dialects.cinder({**CINDER, "conf": {"cinder_sudoers": "own"}}, chart)["conf"]["cinder_sudoers"] == "own"


@pytest.mark.parametrize(
    ("spell", "values"), [(dialects.nova, NOVA), (dialects.neutron, NEUTRON), (dialects.cinder, CINDER)]
)
def test_values_of_the_branch_stay_as_they_are(spell: Any, values: Any) -> None:
    before = repr(values)
    assert spell(values, values) == values
    assert repr(values) == before


def test_only_charts_that_have_dialects_are_asked_for_their_values() -> None:
    plan = site_plan(ROOT / "inventories/cloud/site.yml")
    asked: list[str] = []

    def defaults(release: ReleasePlan) -> Any:
        asked.append(release.name)
        return release.values

    assert for_charts(plan, defaults) == replace(plan)
    assert sorted(asked) == ["cinder", "neutron", "nova"]
