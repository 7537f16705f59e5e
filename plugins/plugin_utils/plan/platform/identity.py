"""Users that are not the cloud's own, from the site file: domains that are directories, providers of logins."""

from __future__ import annotations

import re
from typing import Any

from ...services.keystone_logins import LOCKOUT, literal
from ..model import Site
from ..model.ldap import Ldap, LdapGroups, LdapUsers
from ..part_types import IdentityPlan, LdapPlan, LoginPlan, RolePlan
from . import trust
from .identity_providers import identity_provider
from .resources import roles

CA_FILE = "/etc/keystone/ldap/tls.ca"  # in Keystone's pods; OpenStack-Helm's chart mounts it there
PUBLIC_CAS = "/etc/ssl/certs/ca-certificates.crt"
CONNECT_TIMEOUT = 5  # seconds; a directory that is down must not hold Keystone's processes
POOL_LIFETIME = 60  # seconds; a connection that a firewall or a restart has ended fails the request that takes it
PAGE = 500  # entries; Active Directory answers at most 1000
_ENABLED = 512  # userAccountControl of an ordinary account


def identity(site: Site) -> IdentityPlan:
    """Return the domains whose users somebody else keeps, and the providers, by name."""
    return IdentityPlan(
        logins=_logins(site),
        domains={name: _ldap(site, name, one.ldap) for name, one in site.identity.domains.items()},
        providers=tuple(identity_provider(site, name, one) for name, one in sorted(site.identity.providers.items())),
        roles=roles(site),
    )


def _logins(site: Site) -> LoginPlan:
    rules, lockout = site.identity.passwords, site.identity.lockout
    attempts = lockout.attempts
    if attempts is None:
        attempts = LOCKOUT if site.openstack.charts == "builtin" else 0
    told = f"a password has at least {rules.length} characters"
    return LoginPlan(
        token_life=site.identity.token_life,
        compliance={
            "lockout_failure_attempts": attempts or None,
            "lockout_duration": lockout.seconds,
            # One expression for both.
            "password_regex": literal(f"(?=.{{{rules.length},}}){rules.regex or ''}"),
            "password_regex_description": literal(f"{told}; {rules.explanation}") if rules.explanation else told,
            "unique_last_password_count": rules.history,
            "minimum_password_age": rules.minimum_days,
            "password_expires_days": rules.expire_days,
            "change_password_upon_first_use": rules.change_first,
        },
    )


def is_encrypted(written: Ldap) -> bool:
    """Return whether every connection to the directory is TLS."""
    return written.start_tls or all(url.startswith("ldaps:") for url in written.url)


def _ldap(site: Site, name: str, written: Ldap) -> LdapPlan:
    ca = trust.authority(site, written.ca) if is_encrypted(written) else None
    default = f"keystone/ldap-{re.sub('[^a-z0-9_.-]', '-', name.lower())}"
    return LdapPlan(
        options={
            "url": ",".join(written.url),
            **({"user": written.bind_dn} if written.bind_dn else {}),
            **_trust(written, ca),
            "query_scope": "sub",
            "page_size": PAGE,
            "chase_referrals": False,
            "use_pool": True,
            "pool_connection_timeout": CONNECT_TIMEOUT,
            "pool_retry_max": 2,
            "pool_connection_lifetime": POOL_LIFETIME,
            "use_auth_pool": True,
            **_users(written.users),
            **(_groups(written.groups) if written.groups else {}),
        },
        secret=(written.bind_secret or default) if written.bind_dn else None,
        ca=ca,
        roles=tuple(
            dict.fromkeys(
                RolePlan(
                    group=one.group, role=one.role, project=one.project, domain=one.domain or one.project_domain
                )
                for one in written.roles
            )
        ),
    )  # fmt: skip


def _trust(written: Ldap, ca: str | None) -> dict[str, Any]:
    if not is_encrypted(written):
        return {}
    file = CA_FILE if ca else PUBLIC_CAS
    return {"use_tls": written.start_tls, "tls_req_cert": "demand", "tls_cacertfile": file}


def _users(users: LdapUsers) -> dict[str, Any]:
    found: dict[str, Any] = {
        "user_tree_dn": users.tree, "user_objectclass": users.object_class, "user_id_attribute": users.id,
        "user_name_attribute": users.name, "user_mail_attribute": users.mail,
    }  # fmt: skip
    if users.filter:
        found["user_filter"] = users.filter
    if users.enabled:
        found["user_enabled_attribute"] = users.enabled
    if users.disabled_bit:
        found |= {"user_enabled_mask": users.disabled_bit, "user_enabled_default": str(_ENABLED)}
    return found


def _groups(groups: LdapGroups) -> dict[str, Any]:
    found: dict[str, Any] = {
        "group_tree_dn": groups.tree, "group_objectclass": groups.object_class, "group_id_attribute": groups.id,
        "group_name_attribute": groups.name, "group_member_attribute": groups.member,
        "group_members_are_ids": groups.members_are_ids,
    }  # fmt: skip
    return {**found, "group_filter": groups.filter} if groups.filter else found
