"""Barbican: what its verifier says, the key it encrypts with, and that only sites which name it have its image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.barbican import judge

ROOT = Path(__file__).resolve().parents[3]
URL = "https://key-manager.test/v1"
NAME = f"{URL}/secrets/1"


def plan_of(*services: str, site: str = "lab", openstack: Mapping[str, Any] | None = None, **supply: Any) -> Plan:
    data = yaml.safe_load((ROOT / "inventories" / site / "site.yml").read_text())
    data["openstack"] |= {"services": ["keystone", *services], **(openstack or {})}
    data["supply"] = {**data.get("supply", {}), **supply}
    return with_values(make_plan(build_site(data)))


def test_a_secret_that_is_read_back_is_well() -> None:
    assert judge("word", "word", reference=NAME, url=URL).ok


@pytest.mark.parametrize(
    ("back", "reference", "said"),
    [
        ("", NAME, "read back as something else"),
        ("other", NAME, "read back as something else"),
        ("word", "http://localhost:9311/v1/secrets/1", f"clients reach {URL}"),
    ],
)
def test_anything_else_is_said_and_no_secret_is(back: str, reference: str, said: str) -> None:
    check = judge("word", back, reference=reference, url=URL)
    assert not check.ok
    assert said in check.detail
    assert "word" not in check.detail


def test_its_key_is_the_sites_and_no_key_that_everybody_knows_takes_part() -> None:
    conf = plan_of("barbican").openstack.releases[-1].values["conf"]
    assert conf["barbican"]["simple_crypto_plugin"]["kek"] == {"$secret": "barbican/kek"}
    assert conf["simple_crypto_kek_rewrap"]["old_kek"] == ""


def test_its_image_is_built_and_served_for_sites_that_name_it_alone() -> None:
    assert "openstack-more" not in {*plan_of().supply.images, *plan_of().supply.chosen}
    named = plan_of("barbican")
    assert "openstack-more" in named.supply.chosen
    assert named.supply.images["openstack-more"].endswith("/groundup/openstack-more:2026.1")
    assert "openstack-more" in named.openstack.images


def test_a_site_with_a_registry_of_its_own_builds_no_image() -> None:
    own = plan_of("barbican", source="registry", registry="registry.example:5000", files_url="https://f.example")
    assert "openstack-more" in own.supply.images
    assert "openstack-more" not in own.supply.chosen


@pytest.mark.parametrize(("site", "told"), [("lab", False), ("region", True)])
def test_production_is_told_where_its_key_is(site: str, told: bool) -> None:
    found = {finding.name for finding in plan_of("barbican", site=site).findings}
    assert ("keys-in-software" in found) == told
