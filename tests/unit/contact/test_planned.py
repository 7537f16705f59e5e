"""The action examines a host by its plan."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.action.preflight import planned
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import OptionError
from ansible_collections.groundup.cloud.plugins.module_utils._plan.preflight import Expected
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import host_vars, site_vars

INVENTORIES = Path(__file__).parents[3] / "inventories"
NOW = {"store": "", "controller_time": 1.0}


@pytest.mark.parametrize("site", ["edge", "region"])
def test_all_that_is_expected_of_a_host_follows_from_the_plan(site: str) -> None:
    plan = make_plan(load_site(INVENTORIES / site / "site.yml"))
    for host in list(plan.hosts.values())[:50]:
        found = planned({"groundup_site": site_vars(plan), "groundup_host": host_vars(host)}, **NOW)
        expected = Expected.from_dict(json.loads(json.dumps(found)))
        assert vars(expected) == found
        assert expected.listens == found["listens"] != {}
        assert expected.hardware["name"] == host.hardware


def test_a_field_too_many_or_too_few_is_named() -> None:
    with pytest.raises(OptionError, match=r"unknown: color, store$"):
        Expected.from_dict({one.name: "" for one in fields(Expected) if one.name != "store"} | {"color": "red"})
