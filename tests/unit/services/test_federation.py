"""Logins by a provider, as rendered: what Apache, Keystone and the dashboard are told, and a site without is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import RolePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.federation import redirect_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import required

ROOT = Path(__file__).resolve().parents[3]
MAPPING = [{"claim": "a;b", "group": "ops", "projects": [{"project": "p", "roles": ["member", "reader", "member"]}]}]


def plan_of(providers: dict[str, Any], services: tuple[str, ...] = ("keystone", "horizon")) -> Plan:
    data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
    data["openstack"]["services"] = list(services)
    data |= {"identity": {"providers": providers}} if providers else {}
    return with_values(make_plan(build_site(data)))


def provider(**oidc: Any) -> dict[str, Any]:
    return {"oidc": {"issuer": "https://sso.test/corp/", "client_id": "cloud", **oidc}, "mapping": MAPPING}


def values(plan: Plan, name: str) -> dict[str, Any]:
    return next(dict(one.values) for one in plan.openstack.releases if one.name == name)


def test_a_site_without_providers_loads_no_module_and_knows_no_secret() -> None:
    plan = plan_of({})
    conf = values(plan, "keystone")["conf"]
    assert "OIDC" not in str(conf)
    assert "Proxy" not in conf["wsgi_keystone"]
    assert not {"auth", "federation"} & conf["keystone"].keys()
    assert not {"wsgi_script", "federation"} & conf.keys()
    assert "WEBSSO" not in str(values(plan, "horizon"))
    assert "form-action 'self'\"" in values(plan, "horizon")["conf"]["horizon"]["apache"]
    assert not [name for name in required(plan) if "oidc" in name or "sessions" in name]


def test_each_provider_has_a_host_that_serves_its_logins_alone() -> None:
    text = values(plan_of({"b": provider(issuer="https://b.test"), "a": provider()}), "keystone")["conf"][
        "wsgi_keystone"
    ]
    outside, *hosts = text.split("<VirtualHost 127.0.0.1:")
    assert [host[:4] for host in hosts] == ["5101", "5102"]
    assert "AuthType" not in outside
    assert "OIDCProviderMetadataURL https://sso.test/corp/.well-known/openid-configuration\n" in hosts[0]
    for name, host in zip("ab", hosts, strict=True):
        assert host.count("<Location />\n        Require all denied") == 1
        assert f"OIDCRedirectURI https://identity.cloud.test{redirect_path(name)}\n" in host
        assert "OIDCPassClaimsAs environment none" in host
        assert f'OIDCCryptoPassphrase "{{{{ printf "%s/{name}" .Values.conf.federation.sessions' in host
        assert "oauth20" not in host
        assert f"/{'ba'['ab'.index(name)]}/protocols" not in host


def test_access_tokens_are_for_this_client_and_only_where_it_is_written() -> None:
    text = values(plan_of({"a": provider(bearer=True)}), "keystone")["conf"]["wsgi_keystone"]
    part = text.partition("AuthType oauth20")[2].partition("</Location>")[0]
    assert part.split("<RequireAny>")[1].split() == [
        "Require", "claim", "client_id:cloud", "Require", "claim", "azp:cloud", "Require", "claim", "aud:cloud",
        "</RequireAny>",
    ]  # fmt: skip
    assert "Require valid-user" not in part


def test_the_secrets_are_references_and_no_header_makes_a_user() -> None:
    plan = plan_of({"a": provider()})
    conf = values(plan, "keystone")["conf"]
    assert {"keystone/oidc-a", "keystone/login-sessions"} <= set(required(plan))
    assert conf["federation"]["secrets"] == {"a": {"$secret": "keystone/oidc-a"}}
    assert "external" not in conf["keystone"]["auth"]["methods"].split(",")
    assert conf["keystone"]["federation"]["trusted_dashboard"] == "https://dashboard.cloud.test/auth/websso/"
    assert (
        "trusted_dashboard"
        not in values(plan_of({"a": provider()}, ("keystone",)), "keystone")["conf"]["keystone"]["federation"]
    )


def test_a_user_is_who_the_provider_never_names_twice_and_one_entry_is_one_rule() -> None:
    (one,) = plan_of({"a": provider()}).identity.providers
    (rule,) = one.rules
    assert rule["local"][0] == {"user": {"id": "{0}", "name": "{1}"}}
    assert [part["type"] for part in rule["remote"]] == [
        "OIDC_CLAIM_sub", "OIDC_CLAIM_preferred_username", "OIDC_CLAIM_groups",
    ]  # fmt: skip
    assert rule["remote"][2]["any_one_of"] == ["a%3Bb"]
    assert one.roles == tuple(
        RolePlan(group="ops", role=role, project="p", domain="Default") for role in ("member", "reader")
    )


def test_the_dashboard_has_a_choice_each_and_its_form_may_lead_there() -> None:
    plan = plan_of(
        {"a": provider(hosts=["adfs.test"]) | {"label": "Corp"}, "b": provider(issuer="https://b.test:8443")}
    )
    horizon = values(plan, "horizon")["conf"]["horizon"]
    raw = horizon["local_settings"]["config"]["raw"]
    assert [name for name, _ in raw["WEBSSO_CHOICES"]] == ["credentials", "a", "b"]
    assert raw["WEBSSO_CHOICES"][1][1] == "Log in with Corp"
    assert raw["WEBSSO_IDP_MAPPING"] == {"a": ["a", "openid"], "b": ["b", "openid"]}
    assert raw["WEBSSO_KEYSTONE_URL"] == "https://identity.cloud.test/v3"
    assert (
        "form-action 'self' https://identity.cloud.test https://sso.test https://adfs.test https://b.test:8443\""
        in (horizon["apache"])
    )


SCRIPT_CASES = [
    ({"PATH_INFO": "/v3/OS-FEDERATION/identity_providers/a/protocols/openid/auth"}, "401"),
    ({"PATH_INFO": "/v3//OS-FEDERATION//x/a/protocols//openid//auth//"}, "401"),
    ({"SCRIPT_NAME": "/v3", "PATH_INFO": "/auth/OS-FEDERATION/identity_providers/a/protocols/x/websso"}, "401"),
    ({"PATH_INFO": "/v3/auth/os-federation/websso/openid"}, "401"),
    ({"PATH_INFO": "/v3/auth/OS-FEDERATION/websso/openid", "HTTP_OIDC_ISSUER": "x"}, "401"),
    ({"PATH_INFO": "/v3/OS-FEDERATION/identity_providers"}, "200"),
    ({"PATH_INFO": "/v3/OS-FEDERATION/identity_providers/a/protocols/openid"}, "200"),
    ({"PATH_INFO": "/v3/OS-FEDERATION/identity_providers/auth-websso/protocols/auth"}, "200"),
    ({"PATH_INFO": "/v3/auth/tokens"}, "200"),
    ({"PATH_INFO": "/v3/auth/OS-FEDERATION/websso/openid", "OIDC_ISSUER": "x"}, "200"),
]


@pytest.fixture
def script() -> Callable[[dict[str, str]], tuple[str, dict[str, str]]]:
    """Keystone's WSGI script before a Keystone that takes everything."""
    text = values(plan_of({"a": provider()}), "keystone")["conf"]["wsgi_script"]
    seen: dict[str, str] = {}

    def keystone(environ: dict[str, str], start: Callable[..., Any]) -> list[bytes]:
        seen.update(environ)
        start("200 OK", [])
        return []

    names: dict[str, Any] = {}
    exec(text.replace("from keystone.wsgi.api import application as keystone", ""), names)  # noqa: S102  # our own
    names["keystone"] = keystone

    def ask(environ: dict[str, str]) -> tuple[str, dict[str, str]]:
        said: list[str] = []
        names["application"](dict(environ), lambda status, _: said.append(status))
        return said[0][:3], seen

    return ask


@pytest.mark.parametrize(("environ", "status"), SCRIPT_CASES)
def test_a_login_that_no_provider_confirmed_does_not_reach_keystone(
    script: Callable[..., Any], environ: dict[str, str], status: str
) -> None:
    assert script(environ)[0] == status


def test_a_group_with_keystones_separator_in_its_name_is_one_group(script: Callable[..., Any]) -> None:
    given = {"PATH_INFO": "/", "OIDC_ISSUER": "x", "OIDC_CLAIM_groups": "x;admins\x1fstaff", "HTTP_X": "a;b"}
    seen = script(given)[1]
    assert seen["OIDC_CLAIM_groups"] == "x%3Badmins;staff"
    assert seen["HTTP_X"] == "a;b"
