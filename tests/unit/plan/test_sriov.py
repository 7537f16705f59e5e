"""Network cards with virtual functions: what hypervisors, Nova and Neutron are told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import SriovPlan

PlanOf = Callable[..., Plan]
CARDS = {"ens2f0np0": {"functions": 8, "network": "provider"}, "ens2f1np1": {"functions": 4, "network": "provider"}}
SRIOV = {"hardware/hypervisor/sriov": CARDS}


def values(plan: Plan, release: str) -> dict[str, Any]:
    return next(one.values for one in plan.openstack.releases if one.name == release)


def test_hypervisors_of_the_profile_make_functions_of_its_cards_on_the_physical_network(plan_of: PlanOf) -> None:
    plan = plan_of("rack", {**SRIOV, "networks/provider/mtu": 9000})
    assert plan.hypervisor.sriov == {
        "hypervisor": tuple(
            SriovPlan(card=card, functions=one["functions"], physical_network="physnet1", mtu=9000)  # type: ignore[arg-type]
            for card, one in CARDS.items()
        )
    }
    assert plan.preflight.hardware["hypervisor"]["sriov"] == CARDS
    assert not [one for one in plan.findings if one.name.startswith("sriov")]


def test_the_scheduler_counts_functions_and_neutron_hears_their_agents(plan_of: PlanOf) -> None:
    plan = plan_of("rack", SRIOV)
    filters = values(plan, "nova")["conf"]["nova"]["filter_scheduler"]["enabled_filters"].split(",")
    assert filters[-1] == "PciPassthroughFilter"
    assert "ComputeFilter" in filters, "a list that is written replaces Nova's own"
    neutron = values(plan, "neutron")
    ml2 = neutron["conf"]["plugins"]["ml2_conf"]
    assert ml2["ml2"]["mechanism_drivers"] == "ovn,sriovnicswitch"
    assert ml2["ml2"]["type_drivers"] == "geneve,flat,vlan", "the rest is as before"
    assert ml2["sriov_driver"] == {"vnic_type_prohibit_list": "direct-physical"}
    assert neutron["conf"]["neutron"]["DEFAULT"]["rpc_workers"] == 1
    assert neutron["conf"]["neutron"]["DEFAULT"]["rpc_state_report_workers"] == 1
    server = neutron["extraObjects"]["rpc_server"]
    assert server["metadata"]["name"] == "neutron-rpc-server"
    assert server["spec"]["template"]["spec"]["containers"][0]["command"][0] == "neutron-rpc-server"
    assert neutron["manifests"]["deployment_rpc_server"] is False, "the chart's own would be a second of that name"


def test_without_cards_nothing_of_it_is_told(plan_of: PlanOf) -> None:
    plan = plan_of("rack")
    assert plan.hypervisor.sriov == {}
    assert "filter_scheduler" not in values(plan, "nova")["conf"]["nova"]
    neutron = values(plan, "neutron")
    assert neutron["conf"]["plugins"]["ml2_conf"]["ml2"]["mechanism_drivers"] == "ovn"
    assert "sriov_driver" not in neutron["conf"]["plugins"]["ml2_conf"]
    assert neutron["conf"]["neutron"]["DEFAULT"]["rpc_workers"] == 0
    assert "rpc_server" not in neutron["extraObjects"]


def test_a_card_may_be_the_port_that_open_vswitch_has(plan_of: PlanOf) -> None:
    own = {"hardware/hypervisor/wiring/networks/provider": "ens2f0np0"}
    assert not [one for one in plan_of("rack", {**SRIOV, **own}).findings if one.name.startswith("sriov")]
