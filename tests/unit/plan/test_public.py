"""The virtual IP for users in the plan: what is planned, what names resolve to it, and what stays as it is."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.groundup.cloud.plugins.plugin_utils.https import public_names
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import users
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.zone import zone
from ansible_collections.groundup.cloud.tests.unit.plan.public_cases import USERS

PlanOf = Callable[..., Plan]


def test_the_second_address_of_the_network_is_for_users_and_every_control_host_is_on_it(plan_of: PlanOf) -> None:
    plan = plan_of("ha", USERS)
    assert plan.edge.public is not None
    assert (plan.edge.public.address, plan.edge.public.gateway) == ("192.0.2.2", "192.0.2.1")
    assert "error" not in {one.severity for one in plan.findings}
    legs = {host.name for host in plan.hosts.values() for one in host.interfaces if one.network == "users"}
    assert legs == {host.name for host in plan.hosts.values() if "control" in host.roles}
    assert plan.edge.address == plan_of("ha").edge.address


def test_an_address_of_another_network_is_told_how_users_get_one(plan_of: PlanOf) -> None:
    def told(address: str) -> str:
        findings = plan_of("rack", {"edge": {"address": address}}).findings
        return next(one.remedy for one in findings if one.name == "address-outside-network")

    assert (
        told("198.51.100.9")
        == "write an address from 10.20.0.1 to 10.20.0.254; users get one of their own by edge.public"
    )
    assert plan_of("rack", {"edge": {"address": "10.20.0.9"}}).edge.public is None


def test_users_names_resolve_to_it_and_hosts_names_stay(plan_of: PlanOf) -> None:
    plan, before = plan_of("cloud", USERS), plan_of("cloud")
    assert plan.host.names == before.host.names
    assert public_names(plan) == public_names(before)
    records = {line.split()[0]: line.split()[-1] for line in zone(plan).splitlines() if " IN A " in line}
    assert records["identity.cloud.test."] == records["dashboard.cloud.test."] == "192.0.2.2"
    for name in ("metadata", "placement", "kubernetes"):
        assert records[f"{name}.cloud.test."] == plan.edge.address


def test_both_router_ids_differ(plan_of: PlanOf) -> None:
    plan = plan_of("lab", USERS | {"edge/public": "192.0.2.2", "edge/router_id": 2})
    assert plan.edge.public is not None
    assert (plan.edge.router_id, plan.edge.public.router_id) == (2, 3)
    last = plan_of("lab", USERS | {"edge/public": "192.0.2.254", "edge/router_id": 254}).edge.public
    assert last is not None
    assert last.router_id == 255


def test_the_certificate_has_the_address_when_the_site_issues_it(plan_of: PlanOf) -> None:
    (edge,) = [one for one in users(plan_of("lab", USERS)) if one.user == "edge"]
    assert "192.0.2.2" in edge.names


def test_a_network_without_a_router_has_no_way_of_its_own(plan_of: PlanOf) -> None:
    changes = {"networks/users": {"purpose": "public", "cidr": "192.0.2.0/24", "gateway": "none"}}
    public = plan_of("lab", changes).edge.public
    assert public is not None
    assert public.gateway is None


def test_values_of_releases_do_not_change(plan_of: PlanOf) -> None:
    def values(plan: Plan) -> list[object]:
        return [one.values for one in plan.openstack.releases]

    assert values(plan_of("cloud", USERS)) == values(plan_of("cloud"))
