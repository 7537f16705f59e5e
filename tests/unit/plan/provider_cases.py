"""Mistakes in providers of logins, each with the finding it is."""

from __future__ import annotations

from typing import Any

CORP, OIDC = "identity.providers.corp", "identity.providers.corp.oidc"
ROLES = [{"project": "admin", "roles": ["member"]}]
GROUP = {"claim": "cloud", "group": "operators", "projects": ROLES}
# Of a server of its own name, which signs nothing (openssl req -x509 -addext basicConstraints=CA:FALSE).
LEAF = """\
-----BEGIN CERTIFICATE-----
MIIBhDCCASugAwIBAgIUWM8+dBCk4HBkpkNYBmd/YMnFORAwCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPc3NvLmV4YW1wbGUub3JnMCAXDTI2MTEyODAxMjQzNFoYDzIw
ODEwODMxMDEyNDM0WjAaMRgwFgYDVQQDDA9zc28uZXhhbXBsZS5vcmcwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAASOvsbkBtaliZP8XzyQr9VZD3zh/GMFEDQ1EiHE
5pih+yCf74xEN4kMwNwKxDGs+Trt52+kuULcq+AOjnc6ueMWo00wSzAdBgNVHQ4E
FgQUkHFCcz3opObYyvmRN+8oH7jxETIwHwYDVR0jBBgwFoAUkHFCcz3opObYyvmR
N+8oH7jxETIwCQYDVR0TBAIwADAKBggqhkjOPQQDAgNHADBEAiAwmRWqBR02kRyQ
qRCkr2G0xYTEu8//G8lGG7/CHEW6wQIgMPSi+UBEzuHAoyMAQprY5DB9cUFiaIx5
ZmWBC/bC0Kk=
-----END CERTIFICATE-----
"""
NONE = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"
ADMINS = {"group": "operators", "projects": [{"project": "admin", "roles": ["member", "Admin"]}]}
USER, SUB = {"user": {"id": "{0}"}}, {"type": "OIDC_CLAIM_sub"}


def provider(**changes: Any) -> dict[str, Any]:
    """Return a provider of a site file."""
    oidc = {"issuer": "https://sso.example.org/corp", "client_id": "cloud", **changes.pop("oidc", {})}
    return {"oidc": oidc, "mapping": [GROUP], **changes}


def site(**providers: Any) -> dict[str, Any]:
    """Return what is changed in a site file."""
    return {"identity": {"providers": providers}}


def beside_a_directory(directory: str, **changes: Any) -> dict[str, Any]:
    """Return a site whose provider puts its users into a directory's domain."""
    ldap = {"url": "ldaps://ldap.corp.test", "users": {"tree": "ou=people,dc=corp,dc=test"}}
    return {"identity": {"providers": {"corp": provider(**changes)}, "domains": {directory: {"ldap": ldap}}}}


def rule(**changes: Any) -> dict[str, Any]:
    """Return a site whose provider has a rule of Keystone's."""
    return site(corp=provider(mapping=[], rules=[{"local": [USER], "remote": [SUB], **changes}]))


# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    (name, "error", "cloud", changes, key)
    for name, changes, key in (
        ("providers-without-keystone", site(corp=provider()) | {"openstack/services": []}, "identity.providers"),
        ("providers-of-other-charts", site(corp=provider()) | {"openstack/charts": "/charts"}, "openstack.charts"),
        ("issuer-without-https", site(corp=provider(oidc={"issuer": "http://sso.example.org"})), f"{OIDC}.issuer"),
        (
            "issuer-is-discovery",
            site(corp=provider(oidc={"issuer": "https://sso.example.org/.well-known/openid-configuration"})),
            f"{OIDC}.issuer",
        ),
        ("scopes-without-openid", site(corp=provider(oidc={"scopes": ["email"]})), f"{OIDC}.scopes"),
        ("provider-domain-taken", site(service=provider()), "identity.providers.service"),
        ("provider-domain-taken", site(corp=provider(domain="Default")), f"{CORP}.domain"),
        ("provider-domain-is-a-directory", beside_a_directory("corp"), CORP),
        ("provider-domain-is-a-directory", beside_a_directory("Staff", domain="STAFF"), f"{CORP}.domain"),
        ("provider-without-mapping", site(corp=provider(mapping=[])), f"{CORP}.mapping"),
        (
            "provider-without-mapping",
            site(corp=provider(rules=[{"local": [USER], "remote": [SUB]}])),
            f"{CORP}.mapping",
        ),
        ("provider-group-without-role", site(corp=provider(mapping=[{"group": "all"}])), f"{CORP}.mapping[0]"),
        ("ca-unreadable", site(corp=provider(oidc={"ca": NONE})), f"{OIDC}.ca"),
        ("ca-is-no-ca", site(corp=provider(oidc={"ca": LEAF})), f"{OIDC}.ca"),
        ("provider-issuer-twice", site(a=provider(), b=provider()), "identity.providers.b.oidc.issuer"),
        (
            "provider-label-twice",
            site(a=provider(label="Us"), b=provider(label="us", oidc={"issuer": "https://b.example.org"})),
            "identity.providers.b.label",
        ),
        ("provider-rule-incomplete", rule(remote=[]), f"{CORP}.rules[0].remote"),
        ("provider-rule-incomplete", rule(local="x"), f"{CORP}.rules[0].local"),
        ("provider-rule-incomplete", rule(remote=["OIDC_CLAIM_sub"]), f"{CORP}.rules[0].remote"),
        ("provider-rule-reads-no-claim", rule(remote=[{"type": "HTTP_OIDC_SUB"}]), f"{CORP}.rules[0].remote[0].type"),
        ("provider-rule-reads-no-claim", rule(remote=[{"any_one_of": ["x"]}]), f"{CORP}.rules[0].remote[0].type"),
        *(
            ("provider-rule-takes-accounts", rule(local=[{"user": {"type": "local", "name": "{0}", **domain}}]), key)
            for key in [f"{CORP}.rules[0].local[0].user.type"]
            for domain in (
                {},
                {"domain": {"id": "default"}},
                {"domain": {"name": "Service"}},
                {"domain": {"name": "{1}"}},
            )
        ),
        (
            "provider-rule-takes-accounts",
            rule(local=[{"user": {"id": "{0}", "domain": {"id": "default"}}}]),
            f"{CORP}.rules[0].local[0].user.type",
        ),
        *(
            ("provider-rule-chooses-roles", rule(local=[USER, {name: value}]), f"{CORP}.rules[0].local[1].{name}")
            for name, value in (
                ("projects", [{"name": "a", "roles": [{"name": "{0}"}]}]),
                ("group", {"name": "a", "domain": {"name": "{0}"}}),
                ("domain", {"name": "{0}"}),
            )
        ),
        ("everybody-administers", site(corp=provider(mapping=[ADMINS])), f"{CORP}.mapping[0].claim"),
        ("provider-rule-unknown-key", rule(locale=[]), f"{CORP}.rules[0].locale"),
        ("provider-rule-unknown-key", rule(remote=[{**SUB, "any_of": ["x"]}]), f"{CORP}.rules[0].remote[0].any_of"),
        ("provider-rule-unknown-key", rule(local=[{"users": {}}]), f"{CORP}.rules[0].local[0].users"),
    )
] + [
    (
        "admin-of-a-part",
        "warning",
        "cloud",
        site(corp=provider(mapping=[{**GROUP, "projects": [{"project": "ops", "roles": ["admin"]}]}])),
        f"{CORP}.mapping[0].projects[0].roles",
    ),
    *(
        (
            name,
            "warning",
            "cloud",
            site(corp=provider(mapping=[{**GROUP, "projects": [{"project": "ops", "roles": ["member"], **project}]}])),
            f"{CORP}.mapping[0].projects[0]",
        )
        for name, project in (
            ("granted-role-unknown", {"roles": ["member", "raeder"]}),
            ("granted-domain-unknown", {"domain": "elsewhere"}),
        )
    ),
    *(
        (
            "provider-rule-passes-groups",
            "warning",
            "cloud",
            rule(local=[USER, {name: value}], remote=[SUB, {"type": "OIDC_CLAIM_groups"}]),
            f"{CORP}.rules[0].local[1].{name}",
        )
        for name, value in (("groups", "{1}"), ("group", {"name": "{1}"}), ("group_ids", ["{1}"]))
    ),
]
