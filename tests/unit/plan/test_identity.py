"""Directories of Keystone's domains: what the plan makes of them, and what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, SiteError, pem
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import required

from .certificate_cases import OTHER, ROOT, trusted
from .identity_cases import CA, ROLE, domain
from .provider_cases import provider

Planner = Callable[..., Plan]
USERS = {"tree": "ou=people,dc=corp,dc=test"}


def values(plan: Plan, release: str) -> dict[str, Any]:
    return next(one.values for one in plan.openstack.releases if one.name == release)


def test_a_site_without_a_directory_has_no_value_of_it(plan_of: Planner) -> None:
    plan = plan_of("cloud")
    assert plan.identity.domains == {}
    keystone, horizon = values(plan, "keystone"), values(plan, "horizon")
    assert "ks_domains" not in keystone["conf"]
    assert "ldap" not in keystone["endpoints"]
    assert keystone["manifests"]["job_domain_manage"] is False
    assert horizon["conf"]["horizon"]["local_settings"]["config"]["keystone_multidomain_support"] == "False"


def test_a_directory_becomes_a_domain_with_its_ca_its_password_by_reference_and_a_choice_at_the_login(
    plan_of: Planner,
) -> None:
    plan = plan_of("cloud", domain("Corp.Org", ca=CA))
    assert not [one for one in plan.findings if one.severity == "error"]
    keystone = values(plan, "keystone")
    made = keystone["conf"]["ks_domains"]["Corp.Org"]
    assert made["identity"] == {"driver": "ldap"}
    assert made["ldap"]["password"] == {"$secret": "keystone/ldap-corp.org"}
    assert made["ldap"]["tls_cacertfile"] == "/etc/keystone/ldap/tls.ca"
    assert made["ldap"]["tls_req_cert"] == "demand"
    assert keystone["endpoints"]["ldap"]["auth"]["client"]["tls"]["ca"].strip() == CA.strip()
    assert keystone["manifests"]["job_domain_manage"] is True
    assert "keystone/ldap-corp.org" in required(plan)
    login = values(plan, "horizon")["conf"]["horizon"]["local_settings"]["config"]
    assert login["keystone_multidomain_support"] == "True"
    assert login["keystone_domains"] == {"example_domain": None, "Default": "Default", "Corp.Org": "Corp.Org"}


def test_public_cas_are_trusted_without_one_and_an_accepted_clear_connection_trusts_none(plan_of: Planner) -> None:
    public = plan_of("cloud", domain()).identity.domains["corp"].options
    assert public["tls_cacertfile"] == "/etc/ssl/certs/ca-certificates.crt"
    clear = plan_of("cloud", domain(url="ldap://ldap.corp.test", cleartext=True))
    assert "tls_cacertfile" not in clear.identity.domains["corp"].options
    assert not [one for one in clear.findings if one.name.startswith("ldap-")]


def test_the_cas_of_the_site_are_trusted_where_a_directory_names_none(plan_of: Planner) -> None:
    plan = plan_of("cloud", {**trusted(ROOT.pem, OTHER.pem), **domain("a", ca=CA), **domain("b")})
    assert not [one for one in plan.findings if one.severity == "error"]
    trust = [one.options["tls_cacertfile"] for one in plan.identity.domains.values()]
    assert trust == ["/etc/keystone/ldap/tls.ca"] * 2
    file = values(plan, "keystone")["endpoints"]["ldap"]["auth"]["client"]["tls"]["ca"]
    assert sorted(pem.parse(file).certificates, key=str) == sorted(
        pem.parse(CA + ROOT.pem + OTHER.pem).certificates, key=str
    )
    clear = plan_of("cloud", {**trusted(ROOT.pem), **domain(url="ldap://ldap.corp.test", cleartext=True)})
    assert clear.identity.domains["corp"].ca is None


def test_the_cas_of_the_site_are_trusted_where_a_provider_of_logins_names_none(plan_of: Planner) -> None:
    providers = {"a": provider(oidc={"ca": CA}), "b": provider(oidc={"issuer": "https://b.test"})}
    conf = values(plan_of("cloud", {**trusted(ROOT.pem), "identity/providers": providers}), "keystone")["conf"]
    assert conf["federation"]["authorities"] == {"a": CA, "b": ROOT.pem}
    assert "OIDCCABundlePath /etc/keystone/providers/b.pem\n" in conf["wsgi_keystone"]
    plan = plan_of("cloud", {"identity/providers": {"b": providers["b"]}})
    assert values(plan, "keystone")["conf"]["federation"]["authorities"] == {}


def test_active_directory_has_its_own_attributes(plan_of: Planner) -> None:
    users = {
        **USERS,
        "object_class": "user",
        "name": "sAMAccountName",
        "enabled": "userAccountControl",
        "disabled_bit": 2,
    }
    options = plan_of("cloud", domain(users=users)).identity.domains["corp"].options
    assert {name: options[name] for name in options if "enabled" in name} == {
        "user_enabled_attribute": "userAccountControl", "user_enabled_mask": 2, "user_enabled_default": "512",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "(uid=*)",
        "(&(objectClass=person)(!(loginShell=/bin/false))(|(a=b)(c>=d)))",
        "(cn=Babs \\28x\\29)",
        "(memberOf:1.2.840.113556.1.4.1941:=cn=cloud,dc=corp,dc=test)",
        "(cn=)",
    ],
)
def test_a_filter_by_its_grammar_is_taken(plan_of: Planner, text: str) -> None:
    plan = plan_of("cloud", domain(users={**USERS, "filter": text}))
    assert plan.identity.domains["corp"].options["user_filter"] == text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("url", "http://ldap.corp.test", "its scheme is http"),
        ("url", "ldap.corp.test", "its scheme is missing"),
        ("url", "ldaps://ldap.corp.test/dc=corp", "is more or less than scheme, host and port"),
        ("url", "ldaps://", "is more or less than scheme, host and port"),
        ("url", "ldaps://ldap.corp.test:0", "is more or less than scheme, host and port"),
        ("url", "ldaps://ldap.corp.test:99999", "has no TCP port there"),
        ("url", "ldaps://root@ldap.corp.test", "names a user"),
        ("bind_dn", "keystone", "is no distinguished name"),
        ("bind_dn", "cn=a,,dc=b", "is no distinguished name"),
        ("users", {"tree": "people"}, "is no distinguished name"),
        ("users", {**USERS, "filter": "(&(uid=*)"}, "has more opening parentheses"),
        ("users", {**USERS, "filter": "(uid=*))"}, "goes on after its last parenthesis"),
        ("users", {**USERS, "filter": "uid=*"}, "begins without a parenthesis"),
        ("users", {**USERS, "filter": "(&)"}, "has 0 conditions after &"),
        ("users", {**USERS, "filter": "(!(a=b)(c=d))"}, "has 2 conditions after !"),
        ("users", {**USERS, "filter": "(uid)"}, "has no condition at"),
        ("users", {**USERS, "disabled_bit": 2}, "is a bit of no attribute"),
        ("roles", [{"group": "ops", "role": "member"}], "write either project or domain"),
        ("roles", [{**ROLE, "domain": "corp"}], "write either project or domain"),
        ("ca", "/etc/ssl/ca.pem", "String should match pattern"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_key(plan_of: Planner, field: str, value: Any, said: str) -> None:
    with pytest.raises(SiteError) as caught:
        plan_of("cloud", domain(**{field: value}))
    (problem,) = caught.value.problems
    assert problem.key.startswith(f"identity.domains.corp.ldap.{field}")
    assert said.removeprefix("String should ") in f"{problem.reason}: {problem.remedy}"


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_an_issuer_whose_port_would_stop_keystones_apache_is_refused(plan_of: Planner, port: int) -> None:
    with pytest.raises(SiteError, match="has no TCP port there"):
        plan_of("cloud", {"identity/providers/a": provider(oidc={"issuer": f"https://sso.test:{port}/corp"})})


@pytest.mark.parametrize("name", ["", "a/b", "-corp", "corp ", "x" * 65, "ä"])
def test_a_name_that_no_domain_may_have_is_refused(plan_of: Planner, name: str) -> None:
    with pytest.raises(SiteError):
        plan_of("cloud", {"identity": {"domains": {name: domain()["identity/domains/corp"]}}})
