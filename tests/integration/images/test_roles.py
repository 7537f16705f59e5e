"""What the roles reader, member, manager, admin and service may do, by the rules of the services in our images.

GROUNDUP_WRITE_POLICIES=1 ci/run pytest tests/integration/images/test_roles.py writes the names of rules, which the plan
knows. It needs both images.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.findings import policies

from .conftest import Image
from .stage import Stage

HERE = Path(__file__).parent
SERVICES = {
    "openstack": ("cinder", "glance", "heat", "keystone", "neutron", "nova", "placement"),
    "openstack-more": ("barbican", "designate", "magnum", "manila", "octavia"),
}
# What changes nothing though its method is not GET, and what another rule guards.
HARMLESS = {
    "add_task": "behind tasks_api_access, which is for administrators",
    "modify_task": "behind tasks_api_access",
    "actions:check": "Heat compares a stack with its resources",
    "resource:signal": "Heat's own users of a stack may call it, and do with a role that nobody else has",
    "stacks:preview": "Heat says what it would make",
    "create_port:device_owner": "beside create_port",
    "update_port:device_owner": "beside update_port",
    "create_rbac_policy:target_tenant": "beside create_rbac_policy",
    "create_rbac_policy:target_project": "beside create_rbac_policy",
    "update_rbac_policy:target_tenant": "beside update_rbac_policy",
    "update_rbac_policy:target_project": "beside update_rbac_policy",
    "os_compute_api:os-flavor-extra-specs:index": "shows a part of the answer",
    "os_compute_api:servers:show:flavor-extra-specs": "shows a part of the answer",
    "volume:get_volume_metadata": "shows metadata",
    "share:access_get": "shows a rule; its call is a POST",
}
# Lists of one's own, and what is of no project.
EVERYBODYS = {
    "barbican": "containers:post containers:get orders:get orders:post orders:put quotas:get secrets:post secrets:get "
    "secretstores:get secretstores:get_global_default secretstores:get_preferred secretstore:get transport_key:get "
    "transport_keys:get",
    "designate": "find_zone_shares find_zone_transfer_requests",
    "glance": "get_task get_tasks add_task modify_task",
    "neutron": "get_availability_zone get_default_security_group_rule get_flavor get_rule_type get_service_provider "
    "create_port:device_owner update_port:device_owner create_rbac_policy:target_tenant "
    "create_rbac_policy:target_project update_rbac_policy:target_tenant update_rbac_policy:target_project",
    "nova": "os_compute_api:os-availability-zone:list os_compute_api:extensions os_compute_api:os-floating-ip-pools "
    "os_compute_api:limits os_compute_api:os-quota-sets:defaults",
}
SERVICE_IN_KEYSTONE = {"identity:s3tokens_validate", "identity:ec2tokens_validate"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """All services as the built-in charts configure them."""
    services = [name for names in SERVICES.values() for name in names if name != "keystone"]
    made = Stage(tmp_path_factory.mktemp("stage"), *services)
    made.objects["keystone"] = made.render("keystone")
    return made


@pytest.fixture(scope="module", params=SERVICES)
def asked(request: pytest.FixtureRequest, image: Callable[[str], Image], stage: Stage) -> Any:
    """Return what roles.py says of the services in an image."""
    place = stage.folder(f"etc-{request.param}")
    for name in SERVICES[request.param]:
        conf = "glance-api.conf" if name == "glance" else f"{name}.conf"
        text = {f"{name}/{name}.conf": stage.file(name, conf).replace(f"/etc/{name}/policy", f"/mnt/{name}/policy")}
        stage.folder(place.name, {**text, f"{name}/policy.yaml": stage.file(name, "policy.yaml")})
    done = image(request.param).run("python3", "/opt/roles.py", "/mnt", mounts={"/mnt": place, "/opt": HERE})
    assert done.returncode == 0, done.stdout
    said = json.loads(done.stdout.splitlines()[-1])
    assert set(said) == set(SERVICES[request.param])
    return said


def changes(may: dict[str, list[str]]) -> set[str]:
    """Return the rules that let something be changed."""
    return {name for name, methods in may.items() if set(methods) - {"GET", "HEAD"}}


def test_scope_and_new_defaults_are_enforced(asked: Any) -> None:
    assert [name for name, one in asked.items() if not all(one["on"].values())] == []


def test_a_reader_reads_and_changes_nothing(asked: Any) -> None:
    for name, one in asked.items():
        assert one["may"]["reader"], name
        assert changes(one["may"]["reader"]) - set(HARMLESS) == set(), name


def test_each_role_may_what_the_one_below_it_may_and_a_member_changes_things(asked: Any) -> None:
    for name, one in asked.items():
        reader, member, manager, admin = (set(one["may"][role]) for role in ("reader", "member", "manager", "admin"))
        assert reader <= member <= manager <= admin, name
        if name not in ("keystone", "placement"):  # a project's member has nothing to do there
            assert changes(one["may"]["member"]) - set(HARMLESS), name


def test_what_a_project_owns_is_not_anothers(asked: Any) -> None:
    for name, one in asked.items():
        known = set(EVERYBODYS.get(name, "").split())
        known |= set(one["may"]["reader"]) if name == "keystone" else set()  # its readers have no project there, either
        assert set(one["may"]["stranger"]) - known == set(), name


def test_an_account_of_a_service_changes_nothing_in_keystone(asked: Any) -> None:
    if "keystone" in asked:
        assert changes(asked["keystone"]["may"]["service"]) == SERVICE_IN_KEYSTONE


def test_the_plan_knows_every_rule_and_our_own_are_among_them(asked: Any, stage: Stage) -> None:
    """GROUNDUP_WRITE_POLICIES=1 writes them."""
    known = policies.rules()
    if os.environ.get("GROUNDUP_WRITE_POLICIES"):
        told = {**known, **{name: one["rules"] for name, one in asked.items()}}
        lines = [f'  "{name}": "{" ".join(told[name])}"' for name in sorted(told)]
        policies.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        known = policies.rules()
    for name, one in asked.items():
        assert known[name] == one["rules"], "GROUNDUP_WRITE_POLICIES=1 writes them"
        assert set(yaml.safe_load(stage.file(name, "policy.yaml")) or ()) <= set(one["rules"]), name
