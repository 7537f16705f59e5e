"""Roles that directories and providers of logins give: what nobody has made is a slip of the pen, or made by hand."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import choose, warning
from ..layout.context import PlanContext
from ..platform.resources import OWN_DOMAIN
from ..types import Finding
from .resources import ROLES


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield a warning for each role, and each domain of a role, that the site file does not have."""
    identity, cloud = context.site.identity, context.site.cloud
    own = [one.domain or name for name, one in identity.providers.items()]
    domains = list(dict.fromkeys([OWN_DOMAIN, *identity.domains, *own, *cloud.domains]))
    for key, role, domain in _granted(context):
        yield from _unknown("granted-role-unknown", key, "role", role, [*ROLES, *cloud.roles])
        yield from _unknown("granted-domain-unknown", key, "domain", domain, domains)


def _granted(context: PlanContext) -> Iterator[tuple[str, str, str]]:
    """Yield each role with its key and its domain."""
    for name, one in context.site.identity.domains.items():
        for number, role in enumerate(one.ldap.roles):
            yield f"identity.domains.{name}.ldap.roles[{number}]", role.role, role.domain or role.project_domain
    for name, provider in context.site.identity.providers.items():
        for number, entry in enumerate(provider.mapping):
            for place, project in enumerate(entry.projects):
                key = f"identity.providers.{name}.mapping[{number}].projects[{place}]"
                yield from ((key, role, project.domain) for role in project.roles)


def _unknown(finding: str, key: str, kind: str, value: str, known: list[str]) -> Iterator[Finding]:
    if value.casefold() not in {one.casefold() for one in known}:
        yield warning(finding, key)(
            what=f"the {kind} {value}, which neither Keystone nor the site file has",
            why="a run fails there, unless somebody has made it by hand",
            remedy=f"{choose(value, known)}; another one, make first: openstack {kind} create",
        )
