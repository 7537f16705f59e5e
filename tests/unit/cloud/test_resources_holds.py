"""A project or domain that still has something of others is not deleted, whichever service has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import services
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import holds
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.holds import HOLDINGS, Holder, Holding
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.kinds import SERVICES
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

from .resources_api import USER, Apis
from .test_resources import plan, run

ALL = tuple(SERVICES.values())
WEB = {"id": "web-id", "name": "web", "enabled": True}
# What one looks like where more than an id is read.
_SHAPE: dict[str, dict[str, Any]] = {"/ports": {"device_owner": "compute:nova"}, "/security-groups": {"name": "www"}}
NOTHING_OWNED = {"placement", "horizon"}  # APIs in which projects own nothing


@pytest.fixture(autouse=True)
def _members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "_scoped", Apis.within)


def refusals(
    apis: Apis, *, going: tuple[str, ...] = (), dry: bool = False, found: dict[str, Any] | None = None
) -> list[str]:
    """Return why a project must not be deleted."""
    holder = Holder(api=apis.api(), services=ALL, going=going)
    return list(holder.refusals("project", found or WEB, dry=dry))


def filled(row: Holding, **one: Any) -> Apis:
    """Return APIs with one thing in a list."""
    place = row.path.partition("?")[0]
    return Apis(held={(row.service, place): [{"id": "x", **_SHAPE.get(place, {}), **one}]})


@pytest.mark.parametrize("row", HOLDINGS["project"], ids=lambda row: f"{row.service}:{row.path.partition('?')[0]}")
def test_each_thing_that_a_project_can_own_keeps_it(row: Holding) -> None:
    said = f"project web still has 1 {row.called or row.plural.replace('_', ' ')} that are not from this site file"
    assert said in refusals(filled(row))
    assert refusals(filled(row), going=("x",)) == []
    assert refusals(Apis()) == []


def test_each_api_of_the_catalog_has_its_rows() -> None:
    apis = {name for name, record in services.RECORDS.items() if record.api}
    asked = {SERVICES[row.service] for rows in HOLDINGS.values() for row in rows}
    assert apis - NOTHING_OWNED == asked


def test_what_is_there_in_each_project_or_with_something_else_does_not_keep_it() -> None:
    apis = Apis(held={
        ("network", "/ports"): [{"id": "p", "device_owner": "network:router_interface"}],
        ("network", "/security-groups"): [{"id": "g", "name": "default"}],
    })  # fmt: skip
    assert refusals(apis) == []


def test_the_administrator_is_a_member_only_while_it_asks() -> None:
    apis = Apis()
    refusals(apis)
    role = f"/projects/web-id/users/{USER}/roles/member-role"
    assert (apis.asked, apis.members) == ([f"PUT {role}", f"DELETE {role}"], [])


def test_a_role_that_it_had_stays() -> None:
    apis = Apis(members=["web-id"])
    refusals(apis)
    assert (apis.asked, apis.members) == ([], ["web-id"])


def test_the_role_goes_after_an_error_and_the_error_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    apis, answer = Apis(), Apis.answer

    def broken(self: Apis, service: str, method: str, url: str, body: Any) -> tuple[int, Any]:
        return (503, None) if service == "key_manager" else answer(self, service, method, url, body)

    monkeypatch.setattr(Apis, "answer", broken)
    with pytest.raises(GroundupError):
        refusals(apis)
    assert apis.members == []


def test_a_dry_run_gives_no_role_and_tells_what_it_does_not_see() -> None:
    row = next(row for row in HOLDINGS["project"] if row.plural == "secrets")
    apis = filled(row)
    assert (refusals(apis, dry=True), apis.asked) == ([], [])
    assert "secrets" in holds.unseen("project", ALL)
    assert "secrets" not in holds.unseen("project", ("keystone", "nova"))


def test_a_disabled_project_is_refused_as_nobody_can_look_into_it() -> None:
    (said,) = refusals(Apis(), found={**WEB, "enabled": False})
    assert said.startswith("project web is disabled, and its server groups, stacks, secrets")


def test_a_neutron_without_an_extension_is_not_asked_for_it() -> None:
    row = next(row for row in HOLDINGS["project"] if row.extension == "trunk")
    apis = filled(row)
    apis.extensions = ()
    assert refusals(apis) == []


def test_a_zone_with_records_of_its_project_is_not_deleted() -> None:
    def with_dns(**project: Any) -> Plan:
        planned = plan(**project)
        return replace(
            planned, openstack=replace(planned.openstack, services=(*planned.openstack.services, "designate"))
        )

    apis, gone = Apis(), with_dns()
    run(apis, with_dns(dns_zones={"a.example.test": {"email": "ops@example.test"}}))
    path = f"/zones/{apis.named('dns_zone', 'a.example.test.')['id']}/recordsets"
    own = [
        {"id": kind, "name": "a.example.test.", "zone_name": "a.example.test.", "type": kind} for kind in ("SOA", "NS")
    ]
    mail = {"id": "x", "name": "a.example.test.", "zone_name": "a.example.test.", "type": "MX"}
    below = {"id": "y", "name": "b.a.example.test.", "zone_name": "a.example.test.", "type": "NS"}
    apis.held["dns", path] = [*own, mail, below]
    asked = len(apis.asked)
    with pytest.raises(GroundupError, match=r"dns zone a\.example\.test\. still has 2 recordsets"):
        run(apis, gone, force=("delete",))
    assert len(apis.asked) == asked
    apis.held["dns", path] = own
    assert run(apis, gone, force=("delete",)).done == ["delete dns zone a.example.test. of project web"]


def test_a_network_with_instances_keeps_its_router_too() -> None:
    apis = Apis()
    run(apis, plan())
    front = apis.named("network", "front")["id"]
    apis.ports.append({"id": "p", "network_id": front, "device_id": "an-instance", "device_owner": "compute:nova"})
    asked = len(apis.asked)
    with pytest.raises(GroundupError, match="network front still has 1 ports that are not from this site file"):
        run(apis, plan(networks={}, routers={}), force=("delete",))
    assert len(apis.asked) == asked
