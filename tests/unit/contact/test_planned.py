"""The action examines a host by its plan."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.action.host_preflight import planned
from ansible_collections.groundup.cloud.plugins.modules import host_preflight
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import host_vars, site_vars

INVENTORIES = Path(__file__).parents[3] / "inventories"
BY_ITSELF = {"name", "site", "store", "accept_host_keys", "controller_time"}


@pytest.mark.parametrize("site", ["edge", "region"])
def test_every_option_of_the_module_follows_from_the_plan(site: str) -> None:
    plan = make_plan(load_site(INVENTORIES / site / "site.yml"))
    options = set(yaml.safe_load(host_preflight.DOCUMENTATION)["options"]) - BY_ITSELF
    for host in list(plan.hosts.values())[:50]:
        found = planned({"groundup_site": site_vars(plan), "groundup_host": host_vars(host)})
        assert set(found) == options
