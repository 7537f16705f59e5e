"""Accounts as chart values name them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import rotate
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate import accounts

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("end", ["rabbitmq", "db"])
@pytest.mark.parametrize("site", ["inventories/lab", "inventories/cloud", "tests/e2e/objects", "tests/e2e/tenant"])
def test_every_account_is_one_that_a_job_of_its_service_makes(site: str, end: str) -> None:
    """Keystone, Barbican and Octavia have a name for the queue in their values, and no account there."""
    plan = site_plan(ROOT / site / "site.yml")
    made = {
        one.name
        for one in plan.openstack.releases
        if one.values.get("manifests", {}).get({"rabbitmq": "job_rabbit_init", "db": "job_db_init"}[end], True)
    }
    found = {one.service for one in accounts.of_plan(plan, lambda name: name.endswith(f"/{end}"))}
    assert found <= made
    if end == "rabbitmq":
        assert not found & {"keystone", "barbican", "octavia"}
        assert ("nova" in found) == (site != "inventories/lab")
    else:
        assert "keystone" in found


def test_a_second_kind_is_found_in_one_process() -> None:
    """Importing a kind puts the package `kinds` into the room's names."""
    assert [rotate.find(name).name for name in ("database", "messaging")] == ["database", "messaging"]
