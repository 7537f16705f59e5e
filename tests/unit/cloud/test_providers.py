"""Provider networks: as the plan says, made once, corrected, never deleted, and no other one is taken for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.providers import (
    ProviderNetwork,
    converge,
    foresee,
    pools,
    wanted,
    without,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import NetworkPlan

from .fake import ADMIN, FakeCloud

ROOT = Path(__file__).resolve().parents[3]
NETWORK = NetworkPlan(
    name="public", purpose="provider", cidr="203.0.113.0/24", gateway="203.0.113.1", vlan=None, mtu=1500
)  # fmt: skip
OWN = [{"start": "203.0.113.100", "end": "203.0.113.199"}]
FREE = [{"start": "203.0.113.2", "end": "203.0.113.254"}]
ONE = ProviderNetwork(
    name="public",
    fixed={"provider_network_type": "flat", "provider_physical_network": "physnet1", "provider_segmentation_id": None},
    network={"mtu": 1500, "is_router_external": True},
    cidr=NETWORK.cidr,
    subnet={"gateway_ip": "203.0.113.1", "is_dhcp_enabled": False, "allocation_pools": FREE},
)


@pytest.mark.parametrize(
    ("taken", "found"),
    [
        ((), ["2-254"]),
        (("203.0.113.2", "203.0.113.3"), ["4-254"]),
        (("203.0.113.254",), ["2-253"]),
        (("203.0.113.10", "203.0.113.12", "203.0.113.10"), ["2-9", "11-11", "13-254"]),
        (("198.51.100.7",), ["2-254"]),
    ],
)
def test_pools_leave_out_the_gateway_and_the_hosts(taken: tuple[str, ...], found: list[str]) -> None:
    ranges = [f"{one['start'].rpartition('.')[2]}-{one['end'].rpartition('.')[2]}" for one in pools(NETWORK, taken)]
    assert ranges == found


def test_the_plans_networks_by_its_bridge_mappings(tmp_path: Path) -> None:
    file = tmp_path / "site.yml"
    file.write_text((ROOT / "inventories/region/site.yml").read_text())
    plan = site_plan(file)
    tagged = replace(NETWORK, name="tagged", vlan=42)
    ovn = replace(plan.ovn, bridge_mappings={"physnet1": "public", "physnet2": "tagged", "physnet3": "gone"})
    found = list(wanted(replace(plan, ovn=ovn, networks={**plan.networks, "public": NETWORK, "tagged": tagged})))
    assert [(one.name, *one.fixed.values()) for one in found] == [
        ("public", "flat", "physnet1", None), ("tagged", "vlan", "physnet2", 42),
    ]  # fmt: skip
    assert found[0] == ONE


def test_a_network_that_hosts_have_as_a_vlan_has_no_second_tag_in_neutron() -> None:
    kinds = {
        name: [
            one.fixed["provider_network_type"] for one in wanted(site_plan(ROOT / "inventories" / name / "site.yml"))
        ]
        for name in ("rack", "region", "edge")
    }
    assert kinds == {"rack": ["flat"], "region": ["vlan"], "edge": ["vlan"]}


def ran(admin: Any, *, check: bool = False, one: ProviderNetwork = ONE) -> Changes:
    changes = Changes(check=check)
    converge(admin.network, [one], changes, project=ADMIN)
    return changes


def writes(fake: FakeCloud) -> list[str]:
    return [one for one in fake.asked if one.split()[0] in ("POST", "PUT", "DELETE") and "auth" not in one]


def test_it_is_made_once(admin: Any, fake: FakeCloud) -> None:
    predicted = ran(admin, check=True)
    assert writes(fake) == []
    assert ran(admin).result() == predicted.result()
    network, subnet = fake.of("networks")[0], fake.of("subnets")[0]
    assert (network["router:external"], network["provider:physical_network"], network["mtu"]) == (
        True,
        "physnet1",
        1500,
    )
    assert "provider:segmentation_id" not in network
    assert (subnet["enable_dhcp"], subnet["allocation_pools"], subnet["cidr"]) == (False, FREE, NETWORK.cidr)
    assert ran(admin).done == []


def test_a_dry_run_before_there_is_a_cloud_predicts_the_same(admin: Any) -> None:
    changes = Changes(check=True)
    foresee([ONE], changes)
    assert changes.result() == ran(admin, check=True).result()


def test_a_tenants_external_network_of_the_name_is_not_meant(admin: Any, fake: FakeCloud) -> None:
    """A member may give the administrator's project the right to use it as an external one."""
    theirs = {"project_id": "else", "router:external": True, "id": "theirs"}
    ran(admin)
    fake.of("networks").insert(0, {**fake.of("networks")[0], **theirs})
    assert ran(admin).done == []
    fake.of("networks")[:] = [{**fake.of("networks")[0], "provider:physical_network": None}]
    assert ran(admin, check=True).done == ["create network public"]


def test_a_half_made_one_gets_its_subnet(admin: Any, fake: FakeCloud) -> None:
    ran(admin)
    fake.of("subnets").clear()
    assert ran(admin).done == ["create subnet 203.0.113.0/24"]
    assert ran(admin).done == []


def test_what_can_be_changed_is_corrected(admin: Any, fake: FakeCloud) -> None:
    ran(admin)
    fake.of("networks")[0]["mtu"] = 9000
    fake.of("subnets")[0]["gateway_ip"] = "203.0.113.9"
    before = writes(fake)
    assert len(ran(admin, check=True).done) == 2
    assert writes(fake) == before
    assert len(ran(admin).done) == 2
    assert fake.of("networks")[0]["mtu"] == 1500
    assert fake.of("subnets")[0]["gateway_ip"] == "203.0.113.1"
    assert ran(admin).done == []


def test_a_pool_of_the_site_file_is_set_back(admin: Any, fake: FakeCloud) -> None:
    written = replace(ONE, planned=True, subnet={**ONE.subnet, "allocation_pools": OWN})
    ran(admin, one=written)
    fake.of("subnets")[0]["allocation_pools"] = FREE
    assert ran(admin, one=written).done == ["change subnet 203.0.113.0/24"]
    assert fake.of("subnets")[0]["allocation_pools"] == OWN


def test_a_pool_that_an_operator_set_in_neutron_is_left_alone(admin: Any, fake: FakeCloud) -> None:
    ran(admin)
    fake.of("subnets")[0]["allocation_pools"] = OWN
    assert ran(admin).done == []
    assert fake.of("subnets")[0]["allocation_pools"] == OWN


def test_addresses_that_the_site_came_to_need_are_cut_out_of_an_operators_pool(admin: Any, fake: FakeCloud) -> None:
    ran(admin)
    fake.of("subnets")[0]["allocation_pools"] = OWN
    assert ran(admin, one=replace(ONE, held=("203.0.113.100", "203.0.113.150", "203.0.113.7"))).done
    assert fake.of("subnets")[0]["allocation_pools"] == [
        {"start": "203.0.113.101", "end": "203.0.113.149"},
        {"start": "203.0.113.151", "end": "203.0.113.199"},
    ]


def test_a_new_router_is_cut_out_of_the_pool_that_it_is_in(admin: Any, fake: FakeCloud) -> None:
    ran(admin)
    moved = replace(ONE, subnet={**ONE.subnet, "gateway_ip": "203.0.113.254"})
    assert ran(admin, one=moved).done == ["change subnet 203.0.113.0/24"]
    assert fake.of("subnets")[0]["allocation_pools"] == [{"start": "203.0.113.2", "end": "203.0.113.253"}]
    assert ran(admin, one=moved).done == []


def test_a_pool_of_nothing_but_the_sites_addresses_is_empty() -> None:
    assert without({"allocation_pools": [{"start": "203.0.113.9", "end": "203.0.113.9"}]}, ["203.0.113.9"]) == []


def test_another_one_of_that_name_is_refused(admin: Any, fake: FakeCloud) -> None:
    ran(admin)
    other = replace(ONE, fixed={**ONE.fixed, "provider_physical_network": "physnet2"})
    with pytest.raises(GroundupError, match="provider_physical_network is physnet1, the plan's physnet2"):
        ran(admin, one=other)
    with pytest.raises(GroundupError, match=r"cidr is 203\.0\.113\.0/24"):
        ran(admin, one=replace(ONE, cidr="198.51.100.0/24"))
    assert not any(one.startswith("DELETE") for one in fake.asked)


def test_a_tenants_network_of_that_name_is_nobodys_business(admin: Any, fake: FakeCloud) -> None:
    fake.add("networks", {"name": "public", "mtu": 1442}, "a-tenant")
    ran(admin)
    assert [one["mtu"] for one in fake.of("networks")] == [1442, 1500]


def test_one_that_a_former_version_made_with_a_second_tag_stays_and_is_told(admin: Any, fake: FakeCloud) -> None:
    vlan = {"provider_network_type": "vlan", "provider_segmentation_id": 42}
    ran(admin, one=replace(ONE, fixed={**ONE.fixed, **vlan}))
    now = replace(ONE, tagged=42)
    for check in (True, False):
        changes = ran(admin, one=now, check=check)
        assert changes.done == []
        assert "openstack network delete public, then run this again" in changes.warnings[0]
    assert fake.of("networks")[0]["provider:segmentation_id"] == 42
    with pytest.raises(GroundupError, match="is another one: provider_network_type is vlan"):
        ran(admin, one=replace(now, tagged=43))


def test_two_of_that_name_are_refused(admin: Any, fake: FakeCloud) -> None:
    for _ in range(2):
        fake.add("networks", {"name": "public"}, ADMIN)
    with pytest.raises(GroundupError, match="2 networks are called public"):
        ran(admin)


def test_the_default_external_network_is_marked_once_and_the_mark_is_taken_back(admin: Any, fake: FakeCloud) -> None:
    marked = replace(ONE, default=True)
    predicted, foreseen = ran(admin, check=True, one=marked), Changes(check=True)
    foresee([marked], foreseen)
    assert ran(admin, one=marked).done == predicted.done == foreseen.done
    assert fake.of("networks")[0]["is_default"] is True
    assert ran(admin, one=marked).done == []
    assert ran(admin).done == [], "left as it is by a site file that says nothing"
    assert ran(admin, one=replace(ONE, default=False)).done == ["no longer have public the default external network"]
    assert fake.of("networks")[0]["is_default"] is False


def test_another_default_external_network_stays_and_is_told(admin: Any, fake: FakeCloud) -> None:
    fake.add("networks", {"name": "theirs", "router:external": True, "is_default": True}, "someone")
    changes = ran(admin, one=replace(ONE, default=True))
    assert changes.done == ["create network public"]
    assert "theirs is the default external network and stays it" in changes.warnings[0]
    assert [one.get("is_default") for one in fake.of("networks")] == [True, None]


def test_the_mark_moves_between_two_networks_of_the_site_file_in_one_run(admin: Any, fake: FakeCloud) -> None:
    ran(admin, one=replace(ONE, default=True))
    second = replace(ONE, name="second", cidr="198.51.100.0/24", fixed={**ONE.fixed, "provider_physical_network": "p2"},
                     subnet={**ONE.subnet, "gateway_ip": "198.51.100.1", "allocation_pools": []})  # fmt: skip
    changes = Changes(check=False)
    both = [replace(second, default=True), replace(ONE, default=False)]
    predicted = Changes(check=True)
    converge(admin.network, both, predicted, project=ADMIN)
    converge(admin.network, both, changes, project=ADMIN)
    assert not changes.warnings
    assert (predicted.warnings, predicted.done) == (changes.warnings, changes.done)
    assert {one["name"]: one["is_default"] for one in fake.of("networks")} == {"public": False, "second": True}
