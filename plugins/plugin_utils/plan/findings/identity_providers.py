"""Providers of logins: reachable as written, told apart, and a login through them is good for something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...services.federation import CLAIM, OWN_DOMAINS
from ..form import choose, error, warning
from ..layout.context import PlanContext
from ..model.oidc import IdentityProvider, ProviderGroup
from ..part_types import IdentityProviderPlan
from ..types import Finding
from .directories import administers

_RULE = {"local", "remote"}
_REMOTE = {"type", "any_one_of", "not_any_of", "blacklist", "whitelist", "regex"}
_LOCAL = {"user", "group", "groups", "group_ids", "domain", "projects"}


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about providers of logins."""
    cloud, providers = context.plan.openstack, context.plan.identity.providers
    if not providers:
        return
    if "keystone" not in cloud.services:
        yield error("providers-without-keystone", "identity.providers")(
            what="providers of logins are written, and no Keystone",
            why="nobody would ask them",
            remedy="add keystone to openstack.services",
        )
    if cloud.charts != "builtin":
        yield error("providers-of-other-charts", "identity.providers", "openstack.charts")(
            what="providers of logins need the built-in chart of Keystone",
            why="whether the images of other charts have mod_auth_openidc is not known here",
            remedy="write openstack.charts: builtin, or configure logins by openstack.overrides alone",
        )
    for one in providers:
        key = f"identity.providers.{one.name}"
        yield from _issuer(one, key)
        yield from _domain(one, key, directories=context.plan.identity.domains)
        yield from _mapping(context.site.identity.providers[one.name], key)
    yield from _twice(providers)


def _issuer(one: IdentityProviderPlan, key: str) -> Iterator[Finding]:
    key = f"{key}.oidc"
    if one.issuer.startswith("http://"):
        yield error("issuer-without-https", f"{key}.issuer")(
            what=f"{one.issuer} is asked in clear",
            why="whoever is on the way could say who somebody is",
            remedy=f"write https://{one.issuer.removeprefix('http://')}, if the provider calls itself so",
        )
    if "/.well-known" in one.issuer:
        yield error("issuer-is-discovery", f"{key}.issuer")(
            what="that is the address of the provider's description, not its issuer",
            why="the description is looked for below the issuer, and would not be found",
            remedy=f"write {one.issuer.partition('/.well-known')[0]}, or what `issuer` there says",
        )
    if "openid" not in one.scopes:
        yield error("scopes-without-openid", f"{key}.scopes")(
            what="the scope openid is not asked for",
            why="without it a provider gives access, and says nothing of who it is",
            remedy=f"write {key}.scopes: [openid, {', '.join(one.scopes)}]",
        )


def _domain(one: IdentityProviderPlan, key: str, *, directories: Iterable[str]) -> Iterator[Finding]:
    if one.domain.casefold() in {name.casefold() for name in directories}:
        yield error("provider-domain-is-a-directory", key if one.domain == one.name else f"{key}.domain")(
            what=f"{one.name}'s users would be in the domain {one.domain}, whose users a directory keeps",
            why="Keystone makes a user and groups of each login there, and it never writes to a directory",
            remedy=f"write {key}.domain, a domain of their own",
        )
    if one.domain.casefold() in OWN_DOMAINS:
        yield error("provider-domain-taken", key if one.domain == one.name else f"{key}.domain")(
            what=f"{one.name}'s users would be in the domain {one.domain}",
            why="the accounts that the cloud itself runs by are there, and a provider could name a user like one",
            remedy=f"write {key}.domain, a domain of their own",
        )


def _mapping(written: IdentityProvider, key: str) -> Iterator[Finding]:
    if bool(written.mapping) == bool(written.rules):
        yield error("provider-without-mapping", f"{key}.mapping")(
            what="mapping and rules are both written" if written.rules else "neither mapping nor rules are written",
            why="one of them says who may log in",
            remedy=f"write {key}.mapping: [{{claim: <group at the provider>, group: <group of Keystone>, ...}}]",
        )
    for number, entry in enumerate(written.mapping):
        if entry.create and not any(one.projects for one in written.mapping if one.group == entry.group):
            yield error("provider-group-without-role", f"{key}.mapping[{number}]")(
                what=f"the group {entry.group} has no role on any project",
                why="its members could log in, and do nothing",
                remedy=f"write {key}.mapping[{number}].projects: [{{project: <name>, roles: [member]}}], or create: "
                "false for a group that has its roles",
            )
        yield from _administrators(entry, f"{key}.mapping[{number}]")
    for number, rule in enumerate(written.rules):
        yield from _rule(rule, f"{key}.rules[{number}]")


def _administrators(entry: ProviderGroup, key: str) -> Iterator[Finding]:
    """Yield findings for who would administer the cloud."""
    for place, one in enumerate(entry.projects):
        field = f"{key}.projects[{place}].roles"
        if entry.claim is None and "admin" in [role.casefold() for role in one.roles]:
            yield error("everybody-administers", f"{key}.claim", field)(
                what=f"everybody whom the provider lets in is in {entry.group}, with the role admin",
                why="whoever has an account there administers the cloud",
                remedy=f"write {key}.claim: <group at the provider>",
            )
            continue
        for role in one.roles:
            who = f"members of {entry.group}"
            yield from administers(field, who, role, project=one.project, domain=one.domain)


def _rule(rule: Mapping[str, Any], key: str) -> Iterator[Finding]:
    """Yield what Keystone would refuse, or take and apply to anybody."""
    yield from _unknown(rule, _RULE, key)
    local, remote = rule.get("local"), rule.get("remote")
    for name, parts in (("local", local), ("remote", remote)):
        if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
            yield error("provider-rule-incomplete", f"{key}.{name}")(
                what=f"the rule has no {name}, a list of mappings",
                why="a rule that asks nothing fits anybody"
                if name == "remote"
                else "a rule that gives nothing is none",
                remedy="write remote: [{type: OIDC_CLAIM_sub}] and local: [{user: {id: '{0}'}}], and more in both",
            )
    for place, part in enumerate(remote if isinstance(remote, list) else ()):
        if not isinstance(part, Mapping):
            continue
        yield from _unknown(part, _REMOTE, f"{key}.remote[{place}]")
        kind = part.get("type")
        if not isinstance(kind, str) or not kind.startswith(CLAIM):
            yield error("provider-rule-reads-no-claim", f"{key}.remote[{place}].type")(
                what=f"the rule reads {kind}, which is no claim",
                why="only what begins with OIDC_CLAIM_ comes from the provider; headers (HTTP_...) are any client's",
                remedy=f"write {CLAIM}<claim>, such as {CLAIM}groups",
            )
    for place, part in enumerate(local if isinstance(local, list) else ()):
        if isinstance(part, Mapping):
            yield from _unknown(part, _LOCAL, f"{key}.local[{place}]")
            yield from _account(part.get("user"), f"{key}.local[{place}].user")
            yield from _chosen(part, f"{key}.local[{place}]", listed="whitelist" in str(remote))


def _chosen(part: Mapping[str, Any], key: str, *, listed: bool) -> Iterator[Finding]:
    """Yield findings for rights that a claim chooses. ``listed``: the rule says which values of a claim are taken."""
    for name in ("domain", "group", "groups", "group_ids", "projects"):
        read = [place for place, text in _texts(part.get(name), (name,)) if "{" in text]
        if any({"domain", "roles"} & set(place) for place in read):
            yield error("provider-rule-chooses-roles", f"{key}.{name}")(
                what=f"a claim says which domain or role is meant in {name}",
                why="the provider could make anybody an administrator of this cloud",
                remedy="write the names of domains and roles themselves",
            )
        elif read and name != "projects" and not listed:
            yield warning("provider-rule-passes-groups", f"{key}.{name}")(
                what="groups of the provider are groups of Keystone, whatever they are called",
                why="who may make a group there gives its members the roles of the group of that name here",
                remedy="write whitelist: [<group>, ...] beside the claim in remote",
            )


def _texts(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the texts in ``value``, each with the keys above it."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*place, str(key)))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, place)


def _account(user: Any, key: str) -> Iterator[Finding]:
    """Yield a finding for a user who is an account of Keystone's own, and might be one of the cloud's."""
    if not isinstance(user, Mapping) or (user.get("type") != "local" and "domain" not in user):
        return
    domain = user.get("domain")
    called = [str(one) for one in domain.values()] if isinstance(domain, Mapping) else []
    if not called or any(one.casefold() in OWN_DOMAINS or "{" in one for one in called):
        yield error("provider-rule-takes-accounts", f"{key}.type")(
            what=f"whoever logs in is an account of the domain {', '.join(called) or 'Default'}",
            why="the accounts that the cloud itself runs by are there: a provider could say that somebody is one",
            remedy="leave type and domain out, or write as domain the name of another one, where such accounts are",
        )


def _unknown(part: Mapping[str, Any], known: set[str], key: str) -> Iterator[Finding]:
    for name in sorted(set(part) - known):
        yield error("provider-rule-unknown-key", f"{key}.{name}")(
            what=f"Keystone's mappings have no key {name} there",
            why="Keystone refuses the mapping, or takes it without that key",
            remedy=choose(name, sorted(known)),
        )


def _twice(providers: tuple[IdentityProviderPlan, ...]) -> Iterator[Finding]:
    for name, what, why in (
        ("issuer", "the issuer", "Keystone tells providers apart by their issuers, and refuses the second"),
        ("label", "the label", "nobody could tell the two buttons apart"),
    ):
        seen: dict[str, str] = {}
        for one in providers:
            first = seen.setdefault(getattr(one, name).rstrip("/").casefold(), one.name)
            if first != one.name:
                place = "oidc.issuer" if name == "issuer" else "label"
                yield error(f"provider-{name}-twice", f"identity.providers.{one.name}.{place}")(
                    what=f"{first} and {one.name} have {what} {getattr(one, name)}",
                    why=why,
                    remedy="write one provider with both mappings" if name == "issuer" else "write another label",
                )
