"""What members of a project make there stops no run, is never taken for ours, and never deleted."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import engine, export, holds
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

from .resources_api import ADMIN, Apis
from .test_resources import CLOUD, plan, run

KINDS = ("network", "subnet", "security_group", "router", "dns_zone", "image", "subnet_pool", "address_scope")
MARK = "[groundup.cloud: cloud]"


@pytest.fixture(autouse=True)
def _members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "_scoped", Apis.within)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan of two projects, with an image and a zone."""
    disk = tmp_path_factory.mktemp("image") / "disk"
    disk.write_bytes(b"a disk")
    image = {"source": str(disk), "sha256": hashlib.sha256(b"a disk").hexdigest(), "project": "web"}
    cloud = {**copy.deepcopy(CLOUD), "images": {"debian": image}}
    cloud["projects"]["web"]["dns_zones"] = {"a.example.test": {"email": "ops@example.test"}}
    cloud["projects"]["shop"] = {
        "domain": "acme", "networks": {"back": {}}, "routers": {"out": {"external": "provider"}}
    }  # fmt: skip
    planned = plan(cloud)
    services = (*planned.openstack.services, "designate")
    return replace(planned, openstack=replace(planned.openstack, services=services))


@pytest.fixture(scope="module")
def fresh(both: Plan) -> Apis:
    apis = Apis()
    run(apis, both)
    return apis


@pytest.fixture
def made(fresh: Apis) -> Apis:
    """APIs with all of the plan, each test its own."""
    return copy.deepcopy(fresh)


def without(planned: Plan, **names: str) -> Plan:
    """Return the plan without the resources of these kinds and names."""
    left = [one for one in planned.resources if names.get(one.kind) != one.name]
    return replace(planned, resources=tuple(left))


def ours(apis: Apis, kind: str) -> dict[str, Any]:
    """Return the first of a kind that the run made."""
    return min((one for one in apis.objects[kind] if "created_at" in one), key=lambda one: str(one["created_at"]))


def beside(apis: Apis, kind: str, **fields: Any) -> dict[str, Any]:
    """Return one more of that kind, name and project, as a member makes it."""
    plain = {"description": "", "groundup_image": None, "groundup_resources": None, "created_at": "2026-11-30T01:00Z"}
    one = {**copy.deepcopy(ours(apis, kind)), **plain, "id": f"a-{kind}", **fields}
    apis.objects[kind].insert(0, one)
    return one


@pytest.mark.parametrize("kind", KINDS)
def test_another_one_of_the_name_stops_nothing_is_shown_and_stays(made: Apis, both: Plan, kind: str) -> None:
    before = copy.deepcopy(beside(made, kind))
    ours(made, "network")["shared"] = True
    for check in (True, False):
        done = run(made, both, check=check)
        assert done.done == ["change network front of project web: shared"]
        (told,) = done.warnings
        assert f"1 more have this name and are not from this site file (a-{kind})" in told
    run(made, both, force=("delete", "adopt"))
    assert before in made.objects[kind]


@pytest.mark.parametrize("kind", [one for one in KINDS if one not in ("image", "address_scope")])
def test_a_copy_with_the_mark_is_not_taken_for_ours_and_not_deleted(made: Apis, both: Plan, kind: str) -> None:
    before = copy.deepcopy(beside(made, kind, description=MARK))
    assert run(made, both, force=("delete",)).done == []
    assert before in made.objects[kind]


@pytest.mark.parametrize("kind", ["network", "subnet", "security_group", "router", "dns_zone", "image", "project"])
def test_one_that_is_there_in_our_place_is_left_with_what_needs_it_and_all_else_is_made(
    made: Apis, both: Plan, kind: str
) -> None:
    apis = made
    for one in apis.objects.values():
        one[:] = [each for each in one if each["name"] != "back"]
    found = ours(apis, kind)
    found |= {"description": "mine", "groundup_image": None, "groundup_resources": None}
    before = copy.deepcopy(apis.objects)
    what = rf"{kind.replace('_', ' ')} {found['name']} .*is there, and not from this site file"
    with pytest.raises(engine.ResourcesLeftError, match=what):
        run(apis, both, force=("delete",))
    back = apis.objects["network"].pop()
    assert back["name"] == "back"
    assert apis.objects == before


def test_a_group_that_is_there_keeps_nobody_from_the_rest(made: Apis, both: Plan) -> None:
    apis = made
    apis.objects["group"][0]["description"] = "mine"
    apis.objects["network"] = [one for one in apis.objects["network"] if one["name"] != "back"]
    with pytest.raises(engine.ResourcesLeftError, match="group dev of domain acme is there"):
        run(apis, both)
    assert apis.named("network", "back")


def test_what_only_administrators_make_stops_a_run_before_a_change(made: Apis, both: Plan) -> None:
    made.named("flavor", "m1")["description"] = "mine"
    ours(made, "network")["shared"] = True
    asked = len(made.asked)
    with pytest.raises(GroundupError, match="flavor m1 is there, and not from this site file") as raised:
        run(made, both)
    assert not isinstance(raised.value, engine.ResourcesLeftError)
    assert len(made.asked) == asked


def test_a_network_that_a_tenant_calls_as_the_provider_network_is_not_meant(both: Plan) -> None:
    apis = Apis()
    run(apis, replace(both, resources=tuple(one for one in both.resources if one.kind in ("domain", "project"))))
    theirs = {"name": "provider", "description": "", "router:external": True, "shared": True}
    web = apis.named("project", "web")["id"]
    for owner in (web, "else"):
        apis.objects["network"].insert(
            0, {**apis.named("network", "provider"), **theirs, "id": owner, "project_id": owner}
        )
    run(apis, both)
    assert [one["external_gateway_info"] for one in apis.objects["router"]] == [{"network_id": "ext"}] * 2


def test_a_quota_that_a_project_used_up_keeps_nobody_else_from_anything(both: Plan) -> None:
    apis = Apis(refused='"name": "front"')
    with pytest.raises(engine.ResourcesLeftError, match=r"network front of project web: .*Quota exceeded") as raised:
        run(apis, both)
    assert "left with that: subnet front4 of project web, router out of project web" in raised.value.what
    assert apis.named("network", "back")
    assert apis.named("security_group", "www")
    apis.refused = ""
    run(apis, both)
    assert run(apis, both).done == []


def test_nothing_of_a_project_goes_while_other_things_of_it_are_left(made: Apis, both: Plan) -> None:
    made.objects["security_group"].remove(made.named("security_group", "jump"))
    made.refused = '"name": "jump"'
    with pytest.raises(engine.ResourcesLeftError, match="security group jump of project web"):
        run(made, without(both, router="out"), force=("delete",))
    assert [one["project_id"] for one in made.objects["router"]] == [made.named("project", "web")["id"]]


def test_a_subnet_that_a_member_joined_to_our_router_stays_joined_and_keeps_the_router(made: Apis, both: Plan) -> None:
    router = ours(made, "router")
    beside(made, "subnet", name="theirs")
    made.ports.append(
        {
            "device_id": router["id"],
            "device_owner": "network:router_interface",
            "fixed_ips": [{"subnet_id": "a-subnet"}],
        }
    )
    assert run(made, both).done == []
    with pytest.raises(GroundupError, match="router out still joins 1 subnets that are not from this site file"):
        run(made, without(both, router="out"), force=("delete",))
    assert len(made.ports) == 2
    cloud = export.text(made, both, "web", domain="acme", form="site")
    assert "- theirs" in cloud


def test_what_has_the_mark_in_a_project_that_is_not_the_sites_stays(made: Apis, both: Plan) -> None:
    made.objects["project"].append({"id": "else", "name": "else", "domain_id": "default", "description": ""})
    copied = beside(made, "network", name="copied", description=MARK, project_id="else")
    gone = beside(made, "security_group", name="gone", description=MARK, project_id="no-longer-there")
    made.ledger.made |= {copied["id"], gone["id"]}
    mine = beside(made, "subnet_pool", name="mine", description=MARK, project_id=ADMIN)
    done = run(made, both, force=("delete",)).done
    assert sorted(done) == ["delete security group gone", "delete subnet pool mine of project admin"]
    assert copied in made.objects["network"]
    assert gone not in made.objects["security_group"]
    assert mine not in made.objects["subnet_pool"]


def test_a_snapshot_called_as_the_image_of_its_project_is_not_published(made: Apis, both: Plan) -> None:
    """Nova copies the properties: one from before images had two marks looks like one that a run did not finish."""
    image = ours(made, "image")
    made.objects["image"].remove(image)
    snapshot = {**image, "id": "snapshot", "visibility": "private"}
    del snapshot["groundup_image"]
    made.objects["image"].append(copy.deepcopy(snapshot))
    with pytest.raises(
        engine.ResourcesLeftError, match="image debian of project web is there, and not from this site file"
    ):
        run(made, both)
    assert made.objects["image"] == [snapshot]


def test_rights_of_other_groups_for_a_group_that_goes_keep_it(made: Apis, both: Plan) -> None:
    rule = {"id": "r2", "direction": "ingress", "remote_group_id": made.named("security_group", "jump")["id"]}
    beside(made, "security_group", name="theirs", security_group_rules=[{**rule, "ethertype": "IPv4"}])
    planned = without(both, security_group="jump")
    planned = replace(planned, resources=tuple(one for one in planned.resources if one.name != "www"))
    with pytest.raises(GroundupError, match="security group jump still has 1 groups with rules for it"):
        run(made, planned, force=("delete",))


def test_what_came_between_the_look_and_the_deletion_is_not_lost(
    made: Apis, both: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, web = holds.Holder.refusals, made.named("project", "web")["id"]

    def slow(self: Any, kind: str, found: Any, *, dry: bool) -> Any:
        yield from looked(self, kind, found, dry=dry)
        if found["id"] == web:
            made.held["compute", "/servers"] = [{"id": "new"}]

    monkeypatch.setattr(holds.Holder, "refusals", slow)
    with pytest.raises(GroundupError, match="project web still has 1 servers"):
        run(made, replace(both, resources=tuple(one for one in both.resources if "web" not in (one.name, one.place))),
            force=("delete",))  # fmt: skip
    assert any(one["id"] == web for one in made.objects["project"])


def test_a_run_that_lost_its_lease_changes_nothing_more(both: Plan) -> None:
    apis, asked = Apis(), list[int]()

    def go_on() -> None:
        asked.append(len(apis.asked))
        if len(asked) > 3:
            raise GroundupError("lost", where="here", why="another run", remedy="wait")

    changes = Changes(check=False)
    with pytest.raises(GroundupError, match="lost"):
        engine.Resources(api=apis.api(go_on), plan=both, changes=changes).converge()
    assert len(apis.asked) == 3
