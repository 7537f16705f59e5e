"""The projects' subnet pool: made once, corrected, never deleted, and no other one loses its mark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import subnet_pool
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import SubnetPoolPlan

from .fake import ADMIN, FakeCloud

ROOT = Path(__file__).resolve().parents[3]
POOL = SubnetPoolPlan(cidr="10.128.0.0/16", prefix=24)


def ran(admin: Any, *, pool: SubnetPoolPlan = POOL, check: bool = False) -> Changes:
    changes = Changes(check=check)
    subnet_pool.converge(admin.network, pool, changes, project=ADMIN)
    return changes


def test_it_is_made_once_as_every_dry_run_predicts(admin: Any, fake: FakeCloud) -> None:
    foreseen = Changes(check=True)
    subnet_pool.foresee(POOL, foreseen)
    predicted = ran(admin, check=True)
    assert fake.of("subnetpools") == []
    assert ran(admin).result() == predicted.result() == foreseen.result()
    (made,) = fake.of("subnetpools")
    assert (made["prefixes"], made["default_prefixlen"]) == (["10.128.0.0/16"], 24)
    assert made["shared"] is made["is_default"] is True
    assert ran(admin).done == []


def test_it_grows_and_what_neutron_keeps_is_told(admin: Any, fake: FakeCloud) -> None:
    ran(admin)
    assert ran(admin, pool=replace(POOL, cidr="10.129.0.0/16", prefix=26), check=True).done
    changes = ran(admin, pool=replace(POOL, cidr="10.129.0.0/16", prefix=26))
    assert changes.done == ["change subnet pool tenants"]
    assert "also has 10.128.0.0/16" in changes.warnings[0]
    (made,) = fake.of("subnetpools")
    assert (made["prefixes"], made["default_prefixlen"]) == (["10.128.0.0/15"], 26), "merged, as Neutron keeps them"
    again = ran(admin, pool=replace(POOL, cidr="10.129.0.0/16", prefix=26))
    assert again.done == []


def test_another_default_pool_keeps_the_mark_and_one_of_ipv6_is_no_rival(admin: Any, fake: FakeCloud) -> None:
    fake.add("subnetpools", {"name": "six", "ip_version": 6, "is_default": True, "prefixes": ["fd00::/48"]}, "someone")
    fake.add("subnetpools", {"name": "theirs", "is_default": True, "prefixes": ["10.0.0.0/16"]}, "someone")
    changes = ran(admin)
    assert "theirs is the default one and stays it" in changes.warnings[0]
    assert [one["is_default"] for one in fake.of("subnetpools")] == [True, True, False]
    assert ran(admin).done == []
    fake.of("subnetpools")[1]["is_default"] = False
    assert ran(admin).done == ["change subnet pool tenants"]
    assert fake.of("subnetpools")[2]["is_default"] is True


def test_a_tenants_pool_of_that_name_is_nobodys_business(admin: Any, fake: FakeCloud) -> None:
    fake.add("subnetpools", {"name": "tenants", "prefixes": ["10.0.0.0/16"], "default_prefixlen": 28}, "a-tenant")
    ran(admin)
    assert [one["prefixes"] for one in fake.of("subnetpools")] == [["10.0.0.0/16"], ["10.128.0.0/16"]]


def test_neutron_is_asked_whether_a_project_can_have_an_automatic_network(admin: Any, fake: FakeCloud) -> None:
    plan = site_plan(ROOT / "inventories/cloud/site.yml")
    assert plan.ovn.subnet_pool
    assert plan.networks["provider"].default
    ran(admin)
    with pytest.raises(GroundupError, match=r"no project can have an automatic network: .*No default networks"):
        subnet_pool.verify(admin.network, plan, project=ADMIN)
    fake.add("networks", {"name": "provider", "router:external": True, "is_default": True}, ADMIN)
    subnet_pool.verify(admin.network, plan, project=ADMIN)
    assert fake.asked[-1] == f"GET auto-allocated-topology/{ADMIN}"


def test_a_site_that_plans_no_automatic_network_is_not_asked(admin: Any, fake: FakeCloud) -> None:
    plan = site_plan(ROOT / "inventories/cloud/site.yml")
    subnet_pool.verify(admin.network, replace(plan, ovn=replace(plan.ovn, subnet_pool=None)), project=ADMIN)
    assert not any("auto-allocated" in one for one in fake.asked)
