"""Resources are made, compared, refused and deleted as the site file says, and nothing of others is touched."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.ci.tier import ROOT
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import engine, export, holds
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan

from .resources_api import Apis, Killed

CLOUD: dict[str, Any] = {
    "domains": {"acme": {"groups": {"dev": {}}}},
    "flavors": {"m1": {"vcpus": 1, "memory_mb": 512, "disk_gb": 5, "extra_specs": {"hw:cpu_policy": "shared"}}},
    "volume_qos": {"slow": {"specs": {"total_iops_sec": "100"}}},
    "subnet_pools": {"office": {"prefixes": ["10.0.0.0/16"], "scope": "lan"}},
    "address_scopes": {"lan": {}},
    "projects": {
        "web": {
            "domain": "acme",
            "quotas": {"compute": {"cores": 30}},
            "networks": {"front": {"subnets": {"front4": {"cidr": "10.0.1.0/24", "pool": "office"}}}},
            "routers": {"out": {"external": "provider", "subnets": ["front4"]}},
            "security_groups": {
                "www": {
                    "rules": [{"protocol": "tcp", "ports": [443]}, {"protocol": "tcp", "ports": [22], "group": "jump"}]
                },
                "jump": {},
            },
        }
    },
}


def plan(cloud: dict[str, Any] | None = None, **project: Any) -> Plan:
    """Return the plan of a site with resources; ``project``: changes of its project."""
    data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
    data["cloud"] = copy.deepcopy(CLOUD if cloud is None else cloud)
    if project:
        data["cloud"]["projects"]["web"] |= project
    return make_plan(build_site(data))


def run(apis: Apis, planned: Plan, *, check: bool = False, force: tuple[str, ...] = ()) -> Changes:
    """Converge, and return the changes."""
    changes = Changes(check=check)
    engine.Resources(api=apis.api(), plan=planned, changes=changes, force=force).converge()
    return changes


@pytest.fixture(autouse=True)
def _members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "_scoped", Apis.within)


@pytest.fixture
def made() -> Apis:
    apis = Apis()
    run(apis, plan())
    return apis


def test_a_dry_run_tells_what_the_run_then_does_and_the_next_one_does_nothing() -> None:
    apis = Apis()
    foreseen = run(apis, plan(), check=True)
    assert apis.asked == []
    assert run(apis, plan()).done == foreseen.done
    assert foreseen.done[:3] == [
        "create domain acme",
        "create project web of domain acme",
        "create group dev of domain acme",
    ]
    asked = len(apis.asked)
    assert run(apis, plan()).done == []
    assert len(apis.asked) == asked


def test_what_one_needs_is_there_before_it(made: Apis) -> None:
    web = made.named("project", "web")["id"]
    front, pool = made.named("network", "front"), made.named("subnet_pool", "office")
    subnet = made.named("subnet", "front4")
    assert (front["project_id"], subnet["network_id"], subnet["subnetpool_id"]) == (web, front["id"], pool["id"])
    assert pool["address_scope_id"] == made.named("address_scope", "lan")["id"]
    assert made.named("router", "out")["external_gateway_info"] == {"network_id": "ext"}
    assert [port["fixed_ips"] for port in made.ports] == [[{"subnet_id": subnet["id"]}]]
    (rule,) = [one for one in made.named("security_group", "www")["security_group_rules"] if one.get("remote_group_id")]
    assert rule["remote_group_id"] == made.named("security_group", "jump")["id"]
    assert made.quotas[web]["cores"]["limit"] == 30


@pytest.mark.parametrize("after", range(14))
def test_a_killed_run_is_gone_on_with(after: int) -> None:
    apis = Apis(dies_after=after)
    with pytest.raises(Killed):
        run(apis, plan())
    apis.dies_after = -1
    run(apis, plan())
    whole = Apis()
    run(whole, plan())
    counted = {kind: len(objects) for kind, objects in apis.objects.items()}
    assert counted == {kind: len(objects) for kind, objects in whole.objects.items()}
    assert run(apis, plan()).done == []


def test_drift_is_shown_and_set_back(made: Apis) -> None:
    made.named("network", "front")["shared"] = True
    made.named("security_group", "www")["security_group_rules"].pop()
    found = run(made, plan(), check=True)
    assert found.done == [
        "change network front of project web: shared",
        "change security group www of project web: rules",
    ]
    assert (found.diffs[0]["before"], found.diffs[0]["after"]) == ("shared: true\n", "shared: false\n")
    assert run(made, plan()).done == found.done
    assert run(made, plan()).done == []


def test_what_cannot_be_changed_is_refused_before_anything_is(made: Apis) -> None:
    other = copy.deepcopy(CLOUD)
    other["flavors"]["m1"]["memory_mb"] = 1024
    other["flavors"]["m2"] = {"vcpus": 1, "memory_mb": 64}
    other["projects"]["web"]["networks"]["front"]["subnets"]["front4"]["cidr"] = "10.0.2.0/24"
    asked = len(made.asked)
    with pytest.raises(GroundupError) as raised:
        run(made, plan(other))
    assert "flavor m1: ram is 512 and cannot become 1024" in raised.value.what
    assert "subnet front4 of project web: cidr is 10.0.1.0/24 and cannot become 10.0.2.0/24" in raised.value.what
    assert len(made.asked) == asked


def test_a_quota_below_its_use_is_refused_with_the_figure(made: Apis) -> None:
    with pytest.raises(GroundupError, match="quota cores of 6 is below what is in use, 7"):
        run(made, plan(quotas={"compute": {"cores": 6}}))
    with pytest.raises(GroundupError, match="compute knows no quota corse; it knows cores"):
        run(made, plan(quotas={"compute": {"corse": 6}}))
    assert run(made, plan(quotas={"compute": {"cores": 7}})).done == ["change project web of domain acme: quotas"]


def test_what_others_made_is_refused_until_it_is_to_be_taken_over(made: Apis) -> None:
    made.named("network", "front")["description"] = "mine"
    with pytest.raises(GroundupError, match="network front of project web is there, and not from this site file"):
        run(made, plan())
    assert run(made, plan(), force=("adopt",)).done == ["change network front of project web: description"]
    assert made.named("network", "front")["description"] == "[groundup.cloud: cloud]"


def test_a_network_of_that_name_in_another_project_is_another_one(made: Apis) -> None:
    made.objects["network"].append({**made.named("network", "front"), "id": "theirs", "project_id": "theirs"})
    made.objects["network"][-1]["description"] = ""
    assert run(made, plan()).done == []


def test_what_left_the_file_stays_until_it_is_to_be_deleted_and_others_stay_then(made: Apis) -> None:
    for kind in ("network", "flavor", "security_group"):
        made.objects[kind].append({"id": kind, "name": "theirs", "description": "", "project_id": "else"})
    less = plan(networks={}, routers={})
    told = run(made, less)
    assert told.done == []
    assert "3 are no longer in the site file, and stay: router out of project web" in told.warnings[0]
    assert run(made, less, check=True, force=("delete",)).done == [
        "delete router out of project web", "delete subnet front4 of project web", "delete network front of project web"
    ]  # fmt: skip
    run(made, less, force=("delete",))
    assert [one["name"] for one in made.objects["network"]] == ["provider", "theirs"]
    assert made.ports == []
    run(made, plan({}), force=("delete",))
    left = {kind: [one["name"] for one in objects] for kind, objects in made.objects.items() if objects}
    assert left == {
        "domain": ["Default"], "project": ["admin"], "network": ["provider", "theirs"], "flavor": ["theirs"],
        "security_group": ["theirs"], "address_scope": ["lan"], "role": ["member"],
    }  # fmt: skip


def test_the_last_account_that_left_the_file_is_told_and_deleted_in_a_domain_that_is_not_the_files(made: Apis) -> None:
    mark = {"description": "[groundup.cloud: cloud]", "domain_id": "default"}
    made.objects["account"] += [
        {"id": "u", "name": "web-ci", **mark},
        {**mark, "id": "n", "name": "nova", "description": ""},
    ]
    made.ledger.made.add("u")
    (told,) = run(made, plan()).warnings
    assert "1 are no longer in the site file, and stay: account web-ci" in told
    run(made, plan(), force=("delete",))
    assert [one["name"] for one in made.objects["account"]] == ["nova"]


def test_a_project_with_what_others_made_is_not_deleted(made: Apis) -> None:
    web = made.named("project", "web")["id"]
    made.objects["network"].append({"id": "n", "name": "theirs", "description": "", "project_id": web})
    asked = len(made.asked)
    with pytest.raises(GroundupError, match="project web still has 1 networks that are not from this site file"):
        run(made, plan({}), force=("delete",))
    assert [one for one in made.asked[asked:] if "/roles/" not in one] == []


def test_a_service_that_left_the_site_file_is_asked_while_the_catalog_has_it(made: Apis, monkeypatch: Any) -> None:
    monkeypatch.setattr(holds, "_scoped", Apis.within)
    made.held = {("key_manager", "/secrets"): [{"id": "s"}]}
    made.catalog = ("identity", "key-manager", "placement")
    with pytest.raises(GroundupError, match="project web still has 1 secrets that are not from this site file"):
        run(made, plan({}), force=("delete",))


def test_a_name_that_nobody_has_is_refused() -> None:
    apis = Apis()
    apis.objects["network"].clear()
    with pytest.raises(GroundupError, match="there is no network provider for router out"):
        run(apis, plan())
    assert apis.asked == []


def test_the_export_is_planned_and_changes_nothing_but_the_mark(made: Apis) -> None:
    text = export.text(made, plan(), "web", domain="acme", form="site")
    cloud = yaml.safe_load(text)["cloud"]
    rules = cloud["projects"]["web"]["security_groups"]["www"]["rules"]
    assert {"direction": "ingress", "protocol": "tcp", "ports": [22], "group": "jump"} in rules
    again = {**CLOUD, "projects": cloud["projects"]}
    assert [one for one in run(made, plan(again)).done if "pool" not in one] == []


def test_another_project_with_a_part_of_the_name_is_not_exported(made: Apis) -> None:
    with pytest.raises(GroundupError, match="there is no project web&shop in domain acme"):
        export.text(made, plan(), "web&shop", domain="acme", form="site")


def test_manifests_have_the_fields_of_orc(made: Apis) -> None:
    found = list(yaml.safe_load_all(export.text(made, plan(), "web", domain="acme", form="orc")))
    assert [(one["kind"], one["metadata"]["name"]) for one in found] == [
        ("Namespace", "web"), ("Network", "provider"), ("Network", "front"), ("Subnet", "front4"),
        ("SecurityGroup", "www"), ("SecurityGroup", "jump"), ("Router", "out"), ("RouterInterface", "out-front4"),
    ]  # fmt: skip
    subnet = found[3]["spec"]
    assert subnet["managementPolicy"] == "managed"
    assert subnet["resource"]["networkRef"] == "front"
    assert subnet["resource"]["cidr"] == "10.0.1.0/24"
    assert found[1]["spec"]["import"] == {"filter": {"name": "provider", "external": True}}
    assert found[7]["spec"] == {"type": "Subnet", "routerRef": "out", "subnetRef": "front4"}


@pytest.mark.parametrize("form", ["site", "orc"])
def test_a_rule_for_an_address_group_is_not_exported_as_one_for_everybody(made: Apis, form: str) -> None:
    rule = {
        "id": "a",
        "direction": "ingress",
        "ethertype": "IPv4",
        "protocol": "tcp",
        "remote_address_group_id": "office",
    }
    made.named("security_group", "jump")["security_group_rules"].append(
        {**rule, "port_range_min": 22, "port_range_max": 22}
    )
    text = export.text(made, plan(), "web", domain="acme", form=form)
    (found,) = yaml.safe_load_all(text) if form == "site" else [
        one for one in yaml.safe_load_all(text) if one["metadata"]["name"] == "jump"]  # fmt: skip
    jump = found["cloud"]["projects"]["web"]["security_groups"]["jump"] if form == "site" else found["spec"]["resource"]
    assert jump["rules"] == []
    assert run(made, plan(), check=True).done == ["change security group jump of project web: rules"]


def test_a_subnet_without_a_gateway_is_made_so_and_a_length_as_text_is_no_drift() -> None:
    apis, networks = Apis(), {"data": {"subnets": {"data4": {"cidr": "10.0.9.0/24", "gateway": "none"}}}}
    run(apis, plan(networks=networks, routers={}))
    assert apis.named("subnet", "data4")["gateway_ip"] is None
    apis.named("subnet_pool", "office")["default_prefixlen"] = "24"
    assert run(apis, plan(networks=networks, routers={})).done == []
