"""Which users of services a site has in Keystone, which of them are rotated, and why others stay."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.accounts import Change, Credential, of_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.base import RotationAsked
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.kinds import service_users
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.kinds.administrators import _SERVERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.kinds.service_users import ServiceUsers
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

_SERVICES = ["keystone", "placement", "glance", "neutron", "nova", "cinder", "heat", "octavia", "ceph-rgw"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    data = yaml.safe_load((COLLECTION / "inventories/cloud/site.yml").read_text())
    data["openstack"]["services"] = _SERVICES
    return with_values(make_plan(build_site(data)))


@pytest.fixture
def store(tmp_path: Path, plan: Plan) -> Store:
    store = Store.open(tmp_path / "state", PasswordSource(path=tmp_path / "password", ours=True))
    store.ensure([one.secret for one in of_plan(plan, bool)])
    return store


class Found(ServiceUsers):
    """With a Keystone whose users have their name as id, and databases that name heat-trust."""

    _users: Any = SimpleNamespace(id_of=lambda name, **_: f"id of {name}")
    api: Any = None


def asked(plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch, **more: Any) -> ServiceUsers:
    rows = {"id of heat-trust": {"keystone.trust": 3}}
    monkeypatch.setattr(service_users, "members", lambda *_: [])
    monkeypatch.setattr(service_users, "DatabaseAccounts", lambda _: SimpleNamespace(naming=lambda _: rows))
    return Found(RotationAsked(plan=plan, site_file="site.yml", store=store, changes=Changes(check=True), **more))


def test_every_user_of_a_service_is_found_in_its_domain(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = asked(plan, store, monkeypatch)
    domains = {one.user: kind._domains[one.secret] for one in kind.accounts}
    assert domains.pop("heat-domain") == "heat"
    assert set(domains.values()) == {"service"}
    assert {"nova", "nova_neutron", "neutron_nova", "cinder_swift", "heat-trust", "octavia"} <= domains.keys()
    assert "admin" not in domains


def test_users_with_a_fixed_name_and_those_named_by_id_stay_and_are_told(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = asked(plan, store, monkeypatch)
    todo = {one.user for one in kind.survey().todo}
    assert {"nova", "heat", "heat-domain", "octavia"} <= todo
    assert kind.stays.keys() == {"heat-trust", "ceph-rgw_swift"}
    assert not todo & kind.stays.keys()
    assert "keystone.trust (3)" in kind.stays["heat-trust"]
    assert "its name is fixed" in kind.stays["ceph-rgw_swift"]
    assert "heat-trust stays as it is" in kind.next_steps()


def test_who_gives_up_what_names_a_user_has_it_rotated_but_not_one_with_a_fixed_name(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = asked(plan, store, monkeypatch, force=["references"])
    assert "heat-trust" in {one.user for one in kind.survey().todo}
    assert kind.stays.keys() == {"ceph-rgw_swift"}


def test_who_came_to_name_a_user_since_the_check_keeps_it_from_being_deleted(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []
    keystone = SimpleNamespace(id_of=Found._users.id_of, delete=lambda name, **_: deleted.append(name))
    monkeypatch.setattr(Found, "_users", keystone)

    def expel(user: str, **more: Any) -> None:
        kind = asked(plan, store, monkeypatch, **more)
        account = next(one for one in kind.accounts if one.user == user)
        old, new = (Credential(name, "word", account.secret) for name in (user, f"{user}-new"))
        kind.expel(Change(account=account, old=old, new=new))

    with pytest.raises(GroundupError, match=r"heat-trust is named by its id in keystone\.trust \(3\)") as caught:
        expel("heat-trust")
    assert "rotate_force" in caught.value.remedy
    expel("nova")
    expel("heat-trust", force=["references"])
    assert deleted == ["nova", "heat-trust"]


def test_a_password_without_its_user_name_is_told_where_it_is() -> None:
    pair = {"username": "nova", "password": {"$secret": "nova/keystone"}}
    values = {"auth": pair, "conf": [{"key": {"$secret": "nova/other"}}, {"password": {"$secret": "nova/third"}}]}
    assert list(service_users.bare(values)) == [("conf[0].key", "nova/other"), ("conf[1].password", "nova/third")]


def test_the_administrators_of_three_servers_are_found(plan: Plan) -> None:
    found = of_plan(plan, _SERVERS.__contains__)
    users = {one.secret: one.user for one in found}
    assert users == {
        "keystone/admin": "admin", "mariadb/root": "root", "mariadb/sst": "sst", "mariadb/audit": "audit",
        "rabbitmq/admin": "rabbitmq",
    }  # fmt: skip
    assert {"keystone", "mariadb", "nova"} <= set(next(one.rolls for one in found if one.user == "root"))
