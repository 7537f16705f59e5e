"""A plan of the lab's whole cloud, with a state directory of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

PLAN = site_plan(COLLECTION / "inventories/cloud/site.yml")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the site's state directory."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    return tmp_path / PLAN.site


@pytest.fixture
def plan() -> Plan:
    """Return the plan."""
    return PLAN
