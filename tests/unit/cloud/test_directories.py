"""Roles of a directory's groups: given once, only ours taken back, predicted; and which step of a directory fails."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import directories
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import IdentityPlan, LdapPlan, RolePlan

MEMBER = RolePlan(group="staff", role="member", project="ops", domain="Default")
READER = RolePlan(group="staff", role="reader", project=None, domain="corp")


class Identity:
    """As much of Keystone as is asked, in memory."""

    def __init__(self) -> None:
        self.kinds: dict[str, list[dict[str, Any]]] = {
            "domains": [{"id": "default", "name": "Default"}, {"id": "c", "name": "corp"}],
            "groups": [{"id": "g", "name": "staff", "domain_id": "c"}],
            "roles": [{"id": "m", "name": "member"}, {"id": "r", "name": "reader"}],
            "projects": [],
        }
        self.given: set[str] = set()
        self.writes = 0
        self.users = 200
        self.broken = False

    def get(self, path: str) -> Any:
        kind, _, query = path.strip("/").partition("?")
        if kind == "users":
            return self._answer(self.users, {"error": {"message": "An unexpected error"}} if self.users != 200 else {})
        filters = dict(parse_qsl(query))
        found = [one for one in self.kinds[kind] if all(one.get(key) == value for key, value in filters.items())]
        return self._answer(200, {kind: json.loads(json.dumps(found))})

    def head(self, path: str) -> Any:
        return self._answer(500 if self.broken else 204 if path in self.given else 404)

    def put(self, path: str) -> Any:
        self.writes += 1
        self.given.add(path)
        return self._answer(204)

    def delete(self, path: str) -> Any:
        self.writes += 1
        self.given.discard(path)
        return self._answer(204)

    def post(self, path: str, *, json: dict[str, Any]) -> Any:
        self.writes += 1
        made = {"id": "p", **json["project"]}
        self.kinds[path.strip("/")].append(made)
        return self._answer(201, {"project": made})

    def patch(self, path: str, *, json: dict[str, Any]) -> Any:
        self.writes += 1
        next(one for one in self.kinds["domains"] if path.endswith(f"/{one['id']}")).update(json["domain"])
        return self._answer(200)

    @staticmethod
    def _answer(status: int, body: Any = None) -> Any:
        headers = {"content-type": "application/json"}
        return SimpleNamespace(ok=status < 400, status_code=status, headers=headers, text="", json=lambda: body)


def plan(*roles: RolePlan, name: str = "corp") -> Any:
    one = LdapPlan(options={}, secret="keystone/ldap-corp", ca=None, roles=roles)
    return SimpleNamespace(identity=IdentityPlan(domains={name: one}), openstack=SimpleNamespace(charts="builtin"))


def ran(identity: Identity, wanted: Any, *, check: bool = False) -> Changes:
    changes = Changes(check=check)
    directories.converge(identity, wanted, changes)
    return changes


GIVEN = [
    "create project ops of domain Default",
    "give role member on project ops of domain Default to group staff of corp",
    "give role reader on domain corp to group staff of corp",
]


def test_roles_are_given_once_and_a_dry_run_writes_nothing() -> None:
    identity = Identity()
    assert ran(identity, plan(MEMBER, READER), check=True).done == GIVEN
    assert identity.writes == 0
    assert ran(identity, plan(MEMBER, READER)).done == GIVEN
    assert identity.given == {"/projects/p/groups/g/roles/m", "/domains/c/groups/g/roles/r"}
    before = identity.writes
    assert ran(identity, plan(MEMBER, READER)).done == []
    assert identity.writes == before


def test_only_what_a_run_gave_is_taken_back() -> None:
    identity = Identity()
    identity.given.add("/domains/c/groups/g/roles/r")  # by hand, before the site file said so
    ran(identity, plan(MEMBER, READER))
    assert ran(identity, plan(), check=True).done == [GIVEN[1].replace("give", "take back")]
    assert ran(identity, plan()).done == [GIVEN[1].replace("give", "take back")]
    assert identity.given == {"/domains/c/groups/g/roles/r"}
    assert ran(identity, plan()).done == []


def test_of_a_domain_that_the_site_file_no_longer_has_roles_are_taken_back_and_what_stays_is_told() -> None:
    identity = Identity()
    ran(identity, plan(MEMBER))
    changes = ran(identity, plan(name="other"))
    assert changes.done == [GIVEN[1].replace("give", "take back")]
    assert "domain corp is no longer in the site file" in changes.warnings[0]
    assert identity.given == set()


def test_domains_of_others_are_left_alone() -> None:
    identity = Identity()
    changes = ran(identity, plan(name="other"))
    assert (changes.done, changes.warnings, identity.writes) == ([], [], 0)


@pytest.mark.parametrize(
    ("role", "said"),
    [
        (RolePlan(group="nobody", role="member", project="ops", domain="Default"), "has no group nobody"),
        (RolePlan(group="staff", role="boss", project="ops", domain="Default"), "no role boss"),
        (RolePlan(group="staff", role="member", project="ops", domain="else"), "no domain else"),
    ],
)
def test_what_is_not_there_is_named(role: RolePlan, said: str) -> None:
    with pytest.raises(GroundupError, match=said):
        ran(Identity(), plan(role))


@pytest.mark.parametrize("step", list(directories._FAULTS))
def test_each_step_that_fails_has_a_remedy(step: str) -> None:
    found = {"corp": {"fault": step, "said": "what the library says", "subject": "ldaps://ldap.test"}}
    with pytest.raises(GroundupError) as caught:
        directories.verify(Identity(), plan(), lambda: found)
    assert "directory of domain corp" in caught.value.what
    assert "what the library says" in caught.value.what
    assert "{" not in caught.value.remedy
    assert caught.value.where == "site file key identity.domains.corp.ldap"


def test_keystone_has_the_last_word_and_the_only_one_with_other_charts() -> None:
    identity = Identity()
    assert directories.verify(identity, plan(), None) == ("domain corp: its directory answers",)
    identity.users = 500
    with pytest.raises(GroundupError, match="Keystone answers 500 when it is asked for users: An unexpected error"):
        directories.verify(identity, plan(), None)
    identity.kinds["domains"].pop()
    with pytest.raises(GroundupError, match="Keystone has no domain corp"):
        directories.verify(identity, plan(), None)
    other = SimpleNamespace(openstack=SimpleNamespace(charts="https://charts.test"))
    assert directories.probe_of(other, None) is None  # type: ignore[arg-type]


def test_a_role_whose_state_keystone_does_not_tell_is_not_forgotten() -> None:
    identity = Identity()
    directories.converge(identity, plan(MEMBER, READER), Changes(check=False))
    identity.broken = True
    with pytest.raises(GroundupError, match="cannot see whether a group has a role: Keystone answers 500"):
        directories.converge(identity, plan(), Changes(check=False))
    identity.broken = False
    directories.converge(identity, plan(), Changes(check=False))
    assert identity.given == set()
