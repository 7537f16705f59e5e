"""Providers of logins, and the rules by which Keystone reads what they say of a user."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ...services.federation import CLAIM, ESCAPED
from ..model import Site
from ..model.oidc import IdentityProvider
from ..part_types import IdentityProviderPlan, RolePlan
from . import trust

_PREFIX = "keystone/oidc-"


def identity_provider(site: Site, name: str, written: IdentityProvider) -> IdentityProviderPlan:
    oidc, domain = written.oidc, written.domain or name
    parts = urlsplit(oidc.issuer)
    return IdentityProviderPlan(
        name=name,
        label=written.label or name,
        domain=domain,
        issuer=oidc.issuer,
        client_id=oidc.client_id,
        secret=f"{_PREFIX}{name}",
        scopes=tuple(dict.fromkeys(oidc.scopes)),
        ca=trust.authority(site, oidc.ca),
        bearer=oidc.bearer,
        hosts=tuple(dict.fromkeys([f"https://{parts.netloc}", *(f"https://{host}" for host in oidc.hosts)])),
        groups={one.group: any(each.create for each in written.mapping if each.group == one.group)
                for one in written.mapping},
        roles=_roles(written),
        rules=tuple(written.rules or _rules(written, domain)),
    )  # fmt: skip


def _roles(written: IdentityProvider) -> tuple[RolePlan, ...]:
    """Return the roles of the groups; what several entries say of one is put together."""
    return tuple(
        dict.fromkeys(
            RolePlan(group=one.group, role=role, project=place.project, domain=place.domain)
            for one in written.mapping
            for place in one.projects
            for role in place.roles
        )
    )


def _rules(written: IdentityProvider, domain: str) -> list[dict[str, Any]]:
    """Return one rule an entry: a user whom none fits is refused. Ids are `sub`, which no provider gives twice."""
    found = []
    for one in written.mapping:
        remote: list[dict[str, Any]] = [{"type": f"{CLAIM}sub"}, {"type": f"{CLAIM}{written.oidc.user}"}]
        if one.claim is not None:
            remote.append({"type": f"{CLAIM}{written.oidc.groups}", "any_one_of": [one.claim.replace(*ESCAPED)]})
        user = {"id": "{0}", "name": "{1}"}
        group = {"name": one.group, "domain": {"name": domain}}
        found.append({"local": [{"user": user}, {"group": group}], "remote": remote})
    return found
