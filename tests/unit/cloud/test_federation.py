"""Providers of logins in Keystone: made once, corrected, taken back with the field, and nobody else's is touched."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.federation import broken
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer, UnansweredError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import (
    IdentityPlan,
    IdentityProviderPlan,
    LoginPlan,
    RolePlan,
)

from .identity_api import Server, plan

MEMBER = RolePlan(group="users", role="member", project="demo", domain="Default")
SSO = IdentityProviderPlan(
    name="sso", label="Corp", domain="people", issuer="https://sso.test", client_id="a:b", secret="keystone/oidc-sso",
    scopes=("openid",), ca=None, bearer=False, hosts=(), groups={"users": True}, roles=(MEMBER,),
    rules=({"local": [], "remote": []},),
)  # fmt: skip
PROVIDERS, MAPPINGS = "/OS-FEDERATION/identity_providers", "/OS-FEDERATION/mappings"
GIVEN = "role member on project demo of domain Default to group users of people"


def run(server: Server, *providers: IdentityProviderPlan, check: bool = False) -> tuple[list[str], list[str]]:
    changes = Changes(check=check)
    identity.converge(server.keystone, plan(*providers), changes, {})
    return changes.done, changes.warnings


def test_all_of_a_provider_is_made_once_and_the_protocol_last() -> None:
    server = Server()
    predicted, _ = run(server, SSO, check=True)
    assert server.written == []
    done, warnings = run(server, SSO)
    assert done == predicted == [
        "create domain people", "create group users of domain people", "create mapping groundup-sso",
        "create provider sso", "create protocol openid of sso", f"give {GIVEN}",
    ]  # fmt: skip
    assert len(server.given) == 1
    assert run(server, SSO) == ([], warnings) == ([], [])


def test_a_provider_that_an_operator_disabled_stays_so_and_is_shown() -> None:
    server = Server()
    run(server, SSO)
    server.objects[PROVIDERS]["sso"]["enabled"] = False
    done, (told,) = run(server, SSO)
    assert (done, server.objects[PROVIDERS]["sso"]["enabled"]) == ([], False)
    assert told.startswith("provider sso is disabled, and stays so")


def test_what_the_file_says_otherwise_is_corrected() -> None:
    server = Server()
    run(server, SSO)
    server.objects[PROVIDERS]["sso"]["remote_ids"] = ["https://evil.test", "https://sso.test"]
    done, _ = run(server, replace(SSO, rules=({"local": [1]},)))
    assert done == ["change mapping groundup-sso", "change provider sso"]
    assert server.objects[PROVIDERS]["sso"]["remote_ids"] == ["https://sso.test"]


def test_a_role_that_is_taken_out_is_taken_back_and_those_of_others_stay() -> None:
    server = Server()
    run(server, replace(SSO, roles=()))
    group = server.named("groups", "users")["id"]
    others = f"/projects/d/groups/{group}/roles/r"
    server.given.add(others)  # by hand, before the site file says so
    both = replace(SSO, roles=(MEMBER, replace(MEMBER, role="reader")))
    assert run(server, both)[0] == [f"give {GIVEN}"]
    bare = replace(SSO, roles=())
    assert run(server, bare)[0] == [f"take back {GIVEN}"]
    assert server.given == {others}
    assert run(server, bare)[0] == []


def test_a_provider_that_is_taken_out_goes_with_its_mapping_and_roles_and_what_stays_is_told_once() -> None:
    server = Server()
    foreign: dict[str, Any] = {"remote_ids": [], "domain_id": "x"}
    for name, description in (("theirs", "somebody else's"), ("other", "groundup.cloud: another site"), ("none", None)):
        server.add(PROVIDERS[1:], name, description=description, **foreign)
    run(server, SSO)
    done, warnings = run(server)
    assert done == [f"take back {GIVEN}", "delete provider sso"]
    assert "domain people is no longer in the site file, and stays, with its users and groups" in warnings[0]
    assert set(server.objects[PROVIDERS]) == {"theirs", "other", "none"}
    assert not server.objects[MAPPINGS]
    assert not server.objects[f"{PROVIDERS}/sso/protocols"]
    assert server.given == set()
    assert run(server) == ([], [])


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (replace(SSO, roles=(replace(MEMBER, domain="None"),)), "no domain None"),
        (replace(SSO, roles=(replace(MEMBER, role="king"),)), "no role king"),
        (replace(SSO, groups={"users": False}), "no group users in domain people"),
        (replace(SSO, domain="corp"), "would be in the domain corp, whose users a directory keeps"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_changed(one: IdentityProviderPlan, said: str) -> None:
    server = Server()
    with pytest.raises(GroundupError, match=said):
        run(server, one)
    assert server.written == []


def test_somebody_elses_provider_and_another_domain_are_refused() -> None:
    for description in ("mine", "groundup.cloud: another site", None):
        server = Server()
        server.add(PROVIDERS[1:], "sso", description=description, remote_ids=[], domain_id="x")
        with pytest.raises(GroundupError, match="not this site's"):
            run(server, SSO)
    server = Server()
    run(server, SSO)
    with pytest.raises(GroundupError, match="another domain"):
        run(server, replace(SSO, domain="new"))


def test_a_provider_that_keystone_sends_nobody_to_is_told() -> None:
    endpoints = [SimpleNamespace(service="keystone", type="identity", name="identity.test")]
    own: Any = SimpleNamespace(
        identity=IdentityPlan(logins=LoginPlan(token_life=3600, compliance={}), domains={}, providers=(SSO,)),
        edge=SimpleNamespace(endpoints=endpoints),
    )

    def answers(status: int, location: str = "") -> Any:
        return lambda *_, **__: Answer(status=status, headers={"location": location}, body=None)

    def silent(*_: Any, **__: Any) -> Answer:
        raise UnansweredError("no route", where="x")

    assert broken(own, answers(302, "https://sso.test/auth?client_id=a%3Ab&scope=openid")) == {}
    assert "trust no certificate" in broken(own, answers(500))["sso"]
    assert broken(own, answers(302, "https://evil.test/auth?client_id=x")) == {
        "sso": "Keystone sends browsers to https://evil.test/auth"
    }
    assert broken(own, silent) == {"sso": "no route"}
