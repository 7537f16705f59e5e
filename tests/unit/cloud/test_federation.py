"""Providers of logins in Keystone: made once, corrected, taken back with the field, and nobody else's is touched."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.federation import Federation, broken, recorded
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer, UnansweredError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import (
    IdentityProviderPlan,
    ProviderGroupPlan,
)

MEMBER = ("Default", "demo", "member")
GROUP = ProviderGroupPlan(name="users", create=True, roles=(MEMBER,))
CORP = IdentityProviderPlan(
    name="corp", label="Corp", domain="corp", issuer="https://sso.test", client_id="a:b", secret="keystone/oidc-corp",
    scopes=("openid",), ca=None, bearer=False, hosts=(), groups=(GROUP,), rules=({"local": [], "remote": []},),
)  # fmt: skip


@dataclass
class Identity:
    """Keystone in memory, in openstacksdk's words."""

    kinds: dict[str, dict[str, Any]] = field(default_factory=dict)
    held: set[tuple[str, str, str]] = field(default_factory=set)
    written: list[str] = field(default_factory=list)
    numbers: Any = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        default = self.add("domain", name="Default")
        self.add("project", name="demo", domain_id=default.id)
        self.add("role", name="member")

    def add(self, kind: str, **values: Any) -> Any:
        made = SimpleNamespace(**{"id": f"{kind}-{next(self.numbers)}", "description": "", **values})
        return self.kinds.setdefault(kind, {}).setdefault(made.id, made)

    def identity_providers(self) -> list[Any]:
        return list(self.kinds.get("identity_provider", {}).values())

    def federation_protocols(self, owner: str) -> list[Any]:
        return [one for one in self.kinds.get("federation_protocol", {}).values() if one.owner == owner]

    def find_federation_protocol(self, owner: str, name: str) -> Any:
        return next((one for one in self.federation_protocols(owner) if one.name == name), None)

    def create_federation_protocol(self, owner: str, **values: Any) -> None:
        self.written.append("create federation_protocol")
        self.add("federation_protocol", **{**values, "id": f"{owner}/{values['id']}"}, owner=owner, name=values["id"])

    def update_federation_protocol(self, _: str, found: Any, **values: Any) -> None:
        self.update("federation_protocol", found, values)

    def delete_federation_protocol(self, _: str, found: Any) -> None:
        del self.kinds["federation_protocol"][found.id]

    def update(self, kind: str, found: Any, values: dict[str, Any]) -> None:
        self.written.append(f"update {kind}")
        found.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        verb, _, kind = name.partition("_")
        if verb not in ("find", "create", "update", "delete"):
            raise AttributeError(name)

        def find(wanted: str, **at: Any) -> Any:
            return next(
                (
                    one for one in self.kinds.get(kind, {}).values()
                    if wanted in (one.id, getattr(one, "name", None))
                    and all(getattr(one, key) == value for key, value in at.items())
                ),
                None,
            )  # fmt: skip

        def create(**values: Any) -> Any:
            self.written.append(f"create {kind}")
            return self.add(kind, **values)

        def delete(found: Any, **_: Any) -> None:
            self.written.append(f"delete {kind}")
            self.kinds[kind].pop(getattr(found, "id", found), None)

        verbs: dict[str, Any] = {
            "find": find, "create": create, "delete": delete,
            "update": lambda found, **values: self.update(kind, found, values),
        }  # fmt: skip
        return verbs[verb]

    def validate_group_has_project_role(self, project: Any, group: Any, role: Any) -> bool:
        return (project.id, group.id, role.id) in self.held

    def assign_project_role_to_group(self, project: Any, group: Any, role: Any) -> None:
        self.held.add((project.id, group.id, role.id))

    def unassign_project_role_from_group(self, project: Any, group: Any, role: Any) -> None:
        self.held.remove((project.id, group.id, role.id))


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    (tmp_path / "lab").mkdir()


def run(identity: Identity, *providers: IdentityProviderPlan, check: bool = False) -> tuple[list[str], list[str]]:
    plan: Any = SimpleNamespace(site="lab", providers=providers)
    part = Federation(identity=identity, plan=plan, changes=Changes(check=check))
    part.converge()
    return part.changes.done, part.left


def test_all_of_a_provider_is_made_once_and_the_protocol_last() -> None:
    identity = Identity()
    predicted, _ = run(identity, CORP, check=True)
    assert identity.written == []
    assert not recorded("lab")
    done, left = run(identity, CORP)
    assert done == predicted
    assert identity.written == [
        "create domain", "create group", "create mapping", "create identity_provider", "create federation_protocol",
    ]  # fmt: skip
    assert len(identity.held) == 1
    assert run(identity, CORP) == ([], left)
    assert run(identity, CORP, check=True) == ([], [])


def test_what_the_file_says_otherwise_is_corrected() -> None:
    identity = Identity()
    run(identity, CORP)
    identity.kinds["identity_provider"]["corp"].remote_ids = ["https://evil.test", "https://sso.test"]
    done, _ = run(identity, replace(CORP, rules=({"local": [1]},)))
    assert done == ["change mapping groundup-corp", "change provider corp"]
    assert identity.kinds["identity_provider"]["corp"].remote_ids == ["https://sso.test"]


def test_a_role_that_is_taken_out_is_taken_back_and_others_stay() -> None:
    identity = Identity()
    identity.add("role", name="reader")
    run(identity, CORP)
    group = next(iter(identity.kinds["group"].values()))
    others = ("project-1", group.id, identity.find_role("reader").id)
    identity.held.add(others)
    bare = replace(CORP, groups=(replace(GROUP, roles=()),))
    done, _ = run(identity, bare)
    assert done == ["take back role member on project demo (Default) to group users (corp)"]
    assert identity.held == {others}
    assert run(identity, bare)[0] == []


def test_a_provider_that_is_taken_out_goes_with_its_mapping_and_roles_and_what_stays_is_told() -> None:
    identity = Identity()
    identity.add("identity_provider", id="theirs", description="somebody else's", remote_ids=[], domain_id="x")
    identity.add("identity_provider", id="other", description="groundup.cloud: another site", domain_id="x")
    run(identity, CORP)
    done, left = run(identity)
    assert done[0].startswith("take back role member")
    assert done[1:] == ["delete provider corp"]
    assert left[0].startswith("corp: the domain domain-")
    assert set(identity.kinds["identity_provider"]) == {"theirs", "other"}
    assert not identity.kinds["mapping"]
    assert not identity.kinds["federation_protocol"]
    assert identity.held == set()
    assert not recorded("lab")
    assert run(identity) == ([], [])


def test_a_role_whose_group_or_project_is_gone_is_not_taken_back() -> None:
    identity = Identity()
    run(identity, CORP)
    identity.kinds["project"].clear()
    assert run(identity)[0] == ["delete provider corp"]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ((replace(GROUP, roles=(("Default", "nowhere", "member"),)),), "project nowhere in domain Default"),
        ((replace(GROUP, roles=(("None", "demo", "member"),)),), "project demo in domain None"),
        ((replace(GROUP, roles=(("Default", "demo", "king"),)),), "role king"),
        ((replace(GROUP, create=False),), "group users in domain corp"),
    ],
)
def test_what_is_lacking_is_told_before_anything_is_changed(groups: tuple[ProviderGroupPlan, ...], said: str) -> None:
    identity = Identity()
    with pytest.raises(GroundupError, match=said):
        run(identity, replace(CORP, groups=groups))
    assert identity.written == []
    assert not recorded("lab")


def test_somebody_elses_provider_and_another_domain_are_refused() -> None:
    identity = Identity()
    identity.add("identity_provider", id="corp", description="mine", remote_ids=[], domain_id="x")
    with pytest.raises(GroundupError, match="not this site's"):
        run(identity, CORP)
    identity.kinds["identity_provider"].clear()
    run(identity, CORP)
    identity.add("domain", name="new")
    with pytest.raises(GroundupError, match="another domain"):
        run(identity, replace(CORP, domain="new"))


def test_a_provider_that_keystone_sends_nobody_to_is_told() -> None:
    endpoints = [SimpleNamespace(service="keystone", type="identity", name="identity.test")]
    plan: Any = SimpleNamespace(providers=(CORP,), edge=SimpleNamespace(endpoints=endpoints))

    def answers(status: int, location: str = "") -> Any:
        return lambda *_, **__: Answer(status=status, headers={"location": location}, body=None)

    def silent(*_: Any, **__: Any) -> Answer:
        raise UnansweredError("no route", where="x")

    assert broken(plan, answers(302, "https://sso.test/auth?client_id=a%3Ab&scope=openid")) == {}
    assert "trust no certificate" in broken(plan, answers(500))["corp"]
    assert broken(plan, answers(302, "https://evil.test/auth?client_id=x")) == {
        "corp": "Keystone sends browsers to https://evil.test/auth"
    }
    assert broken(plan, silent) == {"corp": "no route"}
