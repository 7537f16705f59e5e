"""Mistakes in directories of Keystone's domains, each with the finding it is."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from ansible_collections.groundup.cloud.tests.unit.tls import pair

AUTHORITY = pair()
CA, LEAF = AUTHORITY.certificate, pair(signed_by=AUTHORITY).certificate
EMPTY = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
KEY = "identity.domains.corp.ldap"
ROLE = {"group": "ops", "project": "ops", "role": "member"}


def ldap(**changes: Any) -> dict[str, Any]:
    """Return a directory without a fault, changed."""
    given = {
        "url": "ldaps://ldap.corp.test",
        "bind_dn": "cn=keystone,dc=corp,dc=test",
        "users": {"tree": "ou=people,dc=corp,dc=test"},
        "groups": {"tree": "ou=groups,dc=corp,dc=test"},
        "roles": [ROLE],
        **changes,
    }
    return {name: value for name, value in given.items() if value is not None}


def domain(name: str = "corp", **changes: Any) -> dict[str, Any]:
    """Return the changes of a site file that give it a domain."""
    return {f"identity/domains/{name}": {"ldap": ldap(**changes)}}


_CLEAR = {"url": "ldap://ldap.corp.test"}
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("domains-without-keystone", "error", "cloud", {**domain(), "openstack/services": []}, "identity.domains"),
    ("domain-of-the-cloud", "error", "cloud", domain("Default"), "identity.domains.Default"),
    ("domain-of-the-cloud", "error", "cloud", domain("service"), "identity.domains.service"),
    ("domain-twice", "error", "cloud", {**domain("corp"), **domain("Corp")}, "identity.domains.Corp"),
    ("ldap-without-tls", "error", "cloud", domain(**_CLEAR), f"{KEY}.url"),
    ("ldap-without-tls", "error", "cloud", domain(**_CLEAR, bind_dn=None), f"{KEY}.start_tls"),
    ("ldap-tls-twice", "error", "cloud", domain(start_tls=True), f"{KEY}.start_tls"),
    ("ldap-mixed-urls", "error", "cloud", domain(url=["ldaps://a.test", "ldap://b.test"]), f"{KEY}.url"),
    ("ldap-ca-without-tls", "error", "cloud", domain(**_CLEAR, cleartext=True, ca=CA), f"{KEY}.ca"),
    ("ca-unreadable", "error", "cloud", domain(ca=EMPTY), f"{KEY}.ca"),
    ("ca-is-no-ca", "error", "cloud", domain(ca=CA + LEAF), f"{KEY}.ca"),
    ("certificate-expired", "error", "cloud", domain(ca=issue("old", ca=True, begins=-99, days=-9).pem), f"{KEY}.ca"),
    ("ldap-trusts-differ", "error", "cloud", {**domain("a", ca=CA), **domain("b")}, "identity.domains.b.ldap.ca"),
    (
        "ldap-secret-of-two",
        "error",
        "cloud",
        {**domain("a b"), **domain("a-b")},
        "identity.domains.a-b.ldap.bind_secret",
    ),
    ("ldap-secret-without-account", "error", "cloud", domain(bind_dn=None, bind_secret="a/b"), f"{KEY}.bind_secret"),
    ("ldap-roles-without-groups", "error", "cloud", domain(groups=None), f"{KEY}.roles"),
    ("admin-of-a-part", "warning", "cloud", domain(roles=[{**ROLE, "role": "Admin"}]), f"{KEY}.roles[0].role"),
    (
        "admin-of-a-part",
        "warning",
        "cloud",
        domain(roles=[{"group": "ops", "domain": "corp", "role": "admin"}]),
        f"{KEY}.roles[0].role",
    ),
    ("granted-role-unknown", "warning", "cloud", domain(roles=[{**ROLE, "role": "memeber"}]), f"{KEY}.roles[0]"),
    (
        "granted-domain-unknown",
        "warning",
        "cloud",
        domain(roles=[{**ROLE, "project_domain": "crop"}]),
        f"{KEY}.roles[0]",
    ),
    (
        "granted-domain-unknown",
        "warning",
        "cloud",
        domain(roles=[{"group": "ops", "domain": "crop", "role": "member"}]),
        f"{KEY}.roles[0]",
    ),
    ("ldap-without-roles", "warning", "cloud", domain(roles=[]), f"{KEY}.roles"),
]
