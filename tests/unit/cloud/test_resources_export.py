"""An export calls things by names: two of one name, or a name that means another thing, are refused with the ids."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import export
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

from .resources_api import ADMIN, Apis
from .test_resources import CLOUD, plan, run


def cloud() -> dict[str, Any]:
    found = copy.deepcopy(CLOUD)
    found["qos_policies"] = {"gold": {"kbps_out": 1000}}
    found["projects"]["web"]["networks"]["front"]["qos"] = "gold"
    return found


@pytest.fixture
def made() -> Apis:
    apis = Apis()
    run(apis, plan(cloud()))
    return apis


def twin(apis: Apis, kind: str, of: str, **fields: Any) -> None:
    apis.objects[kind].append({**copy.deepcopy(apis.named(kind, of)), "id": "twin", **fields})


def exported(apis: Apis, form: str = "site") -> str:
    return export.text(apis, plan(cloud()), "web", domain="acme", form=form)


@pytest.mark.parametrize("form", ["site", "orc"])
@pytest.mark.parametrize(
    ("kind", "name"), [("network", "front"), ("subnet", "front4"), ("router", "out"), ("security_group", "www")]
)
def test_two_of_a_project_with_one_name_are_refused_with_both_ids(made: Apis, kind: str, name: str, form: str) -> None:
    first = made.named(kind, name)["id"]
    twin(made, kind, name)
    with pytest.raises(GroundupError, match=f"{kind.replace('_', ' ')} {first}, twin are all called {name}"):
        exported(made, form)


@pytest.mark.parametrize(
    ("kind", "name"), [("subnet_pool", "office"), ("qos_policy", "gold"), ("address_scope", "lan")]
)
def test_two_of_the_administrator_with_a_name_that_the_project_uses_are_refused_and_those_of_others_are_not(
    made: Apis, kind: str, name: str
) -> None:
    twin(made, kind, name, project_id="else")
    exported(made)
    made.objects[kind][-1]["project_id"] = ADMIN
    with pytest.raises(GroundupError, match=f"{kind.replace('_', ' ')} .*, twin are all called {name}"):
        exported(made)


@pytest.mark.parametrize("kind", ["network", "subnet", "router", "security_group"])
def test_one_without_a_name_is_refused(made: Apis, kind: str) -> None:
    found = next(one for one in made.objects[kind] if "created_at" in one)
    found["name"] = ""
    with pytest.raises(GroundupError, match=f"{kind.replace('_', ' ')} {found['id']} has no name"):
        exported(made)


@pytest.mark.parametrize("owner", [ADMIN, "web"])
def test_an_external_network_whose_name_means_another_one_is_refused(made: Apis, owner: str) -> None:
    project = made.named("project", "web")["id"] if owner == "web" else owner
    twin(made, "network", "provider", project_id=project)
    with pytest.raises(GroundupError, match=r"router out needs network ext, and provider means .*twin"):
        exported(made)
    made.objects["network"][-1]["project_id"] = "else"
    exported(made)


def test_a_policy_of_a_project_is_refused_as_the_site_file_has_the_administrators_alone(made: Apis) -> None:
    made.named("qos_policy", "gold")["project_id"] = "else"
    with pytest.raises(GroundupError, match=r"network front has qos policy .*, which a project owns"):
        exported(made)


def test_what_is_of_others_is_left_out(made: Apis) -> None:
    made.named("subnet_pool", "office")["project_id"] = "else"
    twin(made, "subnet", "front4", name="theirs", project_id="else")
    router = made.named("router", "out")["id"]
    made.ports.append({"device_id": router, "device_owner": "network:router_interface",
                       "fixed_ips": [{"subnet_id": "twin"}]})  # fmt: skip
    twin(made, "security_group", "jump", project_id="else")
    rule = {"id": "r9", "direction": "ingress", "ethertype": "IPv4", "protocol": None, "remote_group_id": "twin"}
    made.named("security_group", "jump")["security_group_rules"].append(rule)
    web = yaml.safe_load(exported(made))["cloud"]["projects"]["web"]
    assert web["routers"]["out"]["subnets"] == ["front4"]
    assert "pool" not in web["networks"]["front"]["subnets"]["front4"]
    assert web["security_groups"]["jump"]["rules"] == []


def test_the_export_changes_nothing_pool_and_scope_included(made: Apis) -> None:
    found = yaml.safe_load(exported(made))["cloud"]
    assert found["subnet_pools"]["office"]["scope"] == "lan"
    assert run(made, plan({**cloud(), **found})).done == []


def test_a_name_that_the_site_file_does_not_take_is_refused(made: Apis) -> None:
    made.named("network", "front")["name"] = "büro"
    with pytest.raises(GroundupError, match=r"projects.web.networks.büro.*: String should match pattern"):
        exported(made)


def test_manifests_whose_names_become_one_are_refused(made: Apis) -> None:
    twin(made, "security_group", "www", name="WWW", security_group_rules=[])
    exported(made)
    with pytest.raises(GroundupError, match="more than one would be SecurityGroup www"):
        exported(made, "orc")


def test_a_network_of_the_cloud_that_is_there_twice_is_not_chosen_by_chance() -> None:
    apis = Apis()
    twin(apis, "network", "provider")
    with pytest.raises(GroundupError, match="router out needs network provider, and 2 have this name: ext, twin"):
        run(apis, plan())
    assert apis.asked == []
