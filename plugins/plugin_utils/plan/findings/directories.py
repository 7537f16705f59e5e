"""Directories (LDAP) of Keystone's domains: names, TLS and trust, accounts, groups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ...services.federation import OWN_DOMAINS
from ..form import error, warning
from ..layout.context import PlanContext
from ..model.ldap import Ldap
from ..platform.identity import is_encrypted
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the directories of the site file."""
    domains = {name: one.ldap for name, one in context.site.identity.domains.items()}
    if domains and "keystone" not in context.plan.openstack.services:
        yield error("domains-without-keystone", "identity.domains", "openstack.services")(
            what=f"{', '.join(domains)}: domains of Keystone, which the site does not have",
            why="nothing would read the directory",
            remedy="write keystone into openstack.services, or leave identity.domains out",
        )
    for name, one in domains.items():
        yield from _name(name)
        yield from _connection(f"identity.domains.{name}.ldap", one)
        yield from _accounts(f"identity.domains.{name}.ldap", one)
    yield from _together(domains, trusted=bool(context.site.hosts.trusted_cas))
    yield from _passwords({name: one.secret for name, one in context.plan.identity.domains.items()}, domains)


def _name(name: str) -> Iterator[Finding]:
    if name.lower() in OWN_DOMAINS:
        yield error("domain-of-the-cloud", f"identity.domains.{name}")(
            what=f"{name} is a domain of the cloud's own accounts",
            why="the administrator and the services could no longer log in: the directory would be asked for them",
            remedy="give the directory a domain of its own name, such as corp",
        )


def _connection(key: str, one: Ldap) -> Iterator[Finding]:
    secure = [url for url in one.url if url.startswith("ldaps:")]
    if len(secure) not in (0, len(one.url)):
        yield error("ldap-mixed-urls", f"{key}.url")(
            what=f"{', '.join(one.url)}: some are ldaps:// and some are not",
            why="Keystone takes the first one's way for all of them",
            remedy="write all with ldaps://, or all with ldap:// and start_tls: true",
        )
    elif secure and one.start_tls:
        yield error("ldap-tls-twice", f"{key}.start_tls")(
            what=f"start_tls with {secure[0]}, whose connections are TLS from the start",
            why="Keystone refuses the two together",
            remedy="leave start_tls out, or write ldap://",
        )
    elif not is_encrypted(one) and not one.cleartext:
        yield error("ldap-without-tls", f"{key}.url", f"{key}.start_tls")(
            what=f"{one.url[0]} without TLS: {'the bind password and ' if one.bind_dn else ''}each user's password "
            "crosses the network in clear",
            why="who listens between Keystone and the directory logs in as anybody",
            remedy="write ldaps://, or start_tls: true; to accept it, cleartext: true",
        )
    if one.ca and not is_encrypted(one):
        yield error("ldap-ca-without-tls", f"{key}.ca")(
            what="a CA, and connections without TLS", why="nothing would be checked against it",
            remedy="write ldaps:// or start_tls: true, or leave ca out",
        )  # fmt: skip


def _accounts(key: str, one: Ldap) -> Iterator[Finding]:
    if one.bind_secret and not one.bind_dn:
        yield error("ldap-secret-without-account", f"{key}.bind_secret", f"{key}.bind_dn")(
            what=f"the password {one.bind_secret} of no account",
            why="without bind_dn Keystone searches as nobody, and uses no password",
            remedy="write bind_dn, or leave bind_secret out",
        )
    if one.roles and not one.groups:
        yield error("ldap-roles-without-groups", f"{key}.roles", f"{key}.groups")(
            what=f"roles of {', '.join(dict.fromkeys(role.group for role in one.roles))}, and groups are not read",
            why="Keystone would know no such group",
            remedy="write groups: {tree: ...}",
        )
    for number, role in enumerate(one.roles):
        place = role.domain or role.project_domain
        who = f"members of {role.group}"
        yield from administers(f"{key}.roles[{number}].role", who, role.role, project=role.project, domain=place)
    if not one.roles:
        yield warning("ldap-without-roles", f"{key}.roles")(
            what="no group of the directory has a role",
            why="its users log in and may do nothing until somebody gives them a role",
            remedy="write roles: [{group: ..., project: ..., role: member}]; leave it, if you give them by hand",
        )


def administers(key: str, who: str, role: str, *, project: str | None, domain: str) -> Iterator[Finding]:
    """Yield a warning for an administrator of a part, who is one of the whole."""
    if role.casefold() == "admin" and (project, domain.casefold()) != ("admin", "default"):
        yield warning("admin-of-a-part", key)(
            what=f"{who} get the role admin on {f'project {project} of ' if project else ''}domain {domain}",
            why="OpenStack's policies let an admin of any project or domain administer the whole cloud",
            remedy="write manager, member or reader; for administrators of the cloud, project: admin",
        )


def _together(domains: dict[str, Ldap], *, trusted: bool) -> Iterator[Finding]:
    for first, second in combinations(domains, 2):
        if first.lower() == second.lower():
            yield error("domain-twice", f"identity.domains.{second}")(
                what=f"{first} and {second} are one name",
                why="Keystone's database takes small and capital letters for the same",
                remedy="leave one out, or rename it",
            )
    encrypted = {name: one for name, one in domains.items() if is_encrypted(one)}
    with_ca = [name for name, one in encrypted.items() if one.ca]
    others = [] if trusted else [name for name in encrypted if name not in with_ca]
    if with_ca and others:
        yield error("ldap-trusts-differ", *(f"identity.domains.{name}.ldap.ca" for name in others))(
            what=f"{', '.join(with_ca)} has a ca, {', '.join(others)} has none",
            why="the LDAP library has one list of trusted CAs for all directories of a process",
            remedy=f"write the ca of {', '.join(others)}, too: a public CA's certificate, where it has one of these",
        )


def _passwords(secrets: dict[str, str | None], domains: dict[str, Ldap]) -> Iterator[Finding]:
    for first, second in combinations(domains, 2):
        if secrets[first] and secrets[first] == secrets[second] and not domains[second].bind_secret:
            yield error("ldap-secret-of-two", f"identity.domains.{second}.ldap.bind_secret")(
                what=f"the passwords of {first} and {second} have one name, {secrets[first]}",
                why="one directory would be sent the password of the other",
                remedy=f"write bind_secret of {second}; the same name in both, if they are one directory",
            )
