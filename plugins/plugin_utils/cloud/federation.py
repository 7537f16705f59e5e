"""Providers of logins in Keystone: identity provider, protocol, mapping, and the groups with their roles.

Our providers are marked in their description; no others are changed. What the site file gave is recorded in the state
directory, so that it is taken back when the file no longer says so: roles, and providers as a whole. Domains and groups
stay, since others may have given them more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...module_utils._base.changes import Changes
from ...module_utils._base.files import write_file
from ...module_utils._base.yaml_text import dump
from ..errors import GroundupError
from ..paths import PROVIDERS, state_dir
from ..services.federation import PROTOCOL

if TYPE_CHECKING:
    from ..plan.types import IdentityProviderPlan, Plan

_MARK = "groundup.cloud: "  # how descriptions of ours begin, the site's name after it
_OURS = "groundup-"  # how our mappings are named

Role = tuple[str, str, str, str, str]  # domain of the group, group, domain of the project, project, role


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the site file gave by now."""

    providers: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()

    def __bool__(self) -> bool:
        """Return whether it gave anything."""
        return bool(self.providers or self.roles)


def recorded(site: str) -> Given:
    """Return the record of ``site``."""
    file = _file(site)
    if not file.is_file():
        return Given()
    found = json.loads(file.read_text())
    return Given(providers=tuple(found["providers"]), roles=tuple(tuple(one) for one in found["roles"]))


def record(site: str, given: Given) -> None:
    """Write the record of ``site``; none for nothing."""
    if given:
        text = json.dumps({"providers": given.providers, "roles": given.roles}, indent=1)
        write_file(_file(site), f"{text}\n".encode(), mode=0o600)
    else:
        _file(site).unlink(missing_ok=True)


def _file(site: str) -> Path:
    return state_dir(site) / PROVIDERS


def _planned(plan: Plan) -> Given:
    roles = [
        (one.domain, group.name, *role) for one in plan.providers for group in one.groups for role in group.roles
    ]  # fmt: skip
    return Given(providers=tuple(one.name for one in plan.providers), roles=tuple(roles))


def foresee(plan: Plan, changes: Changes) -> None:
    """Record what a cloud not deployed yet will get."""
    for one in plan.providers:
        changes.add(f"create provider {one.name}", name=f"provider {one.name}", after=dump(_shown(one)))


def _shown(one: IdentityProviderPlan) -> dict[str, Any]:
    return {"issuer": one.issuer, "domain": one.domain, "rules": list(one.rules)}


@dataclass(slots=True, kw_only=True)
class Federation:
    """The part of a cloud's Keystone that is about providers."""

    identity: Any  # openstacksdk's proxy
    plan: Plan
    changes: Changes
    left: list[str] = field(default_factory=list)  # what providers that are gone leave behind
    _known: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def converge(self) -> None:
        """Make Keystone's objects as planned, take back what was given before. Raises GroundupError."""
        before, now = recorded(self.plan.site), _planned(self.plan)
        self._check(now.roles)
        changing = not self.changes.check and before != now
        if changing:  # first: a killed run has given a part of it
            both = Given(
                providers=tuple(dict.fromkeys((*before.providers, *now.providers))),
                roles=tuple(dict.fromkeys((*before.roles, *now.roles))),
            )
            record(self.plan.site, both)
        for one in self.plan.providers:
            self._provider(one)
        for role in now.roles:
            self._give(role)
        for role in before.roles:
            if role not in now.roles:
                self._take(role)
        self._remove(now.providers)
        if changing:
            record(self.plan.site, now)

    def _check(self, roles: Iterable[Role]) -> None:
        """Raise GroundupError for what the mapping names and Keystone lacks, before anything is changed."""
        lacking = [line for role in roles for line in self._lacking(role)]
        for one in self.plan.providers:
            for group in one.groups:
                if not group.create and not self._group(one.domain, group.name):
                    lacking.append(f"group {group.name} in domain {one.domain}")
            found = self.identity.find_identity_provider(one.name)
            if found and not str(found.description or "").startswith(_MARK):
                raise GroundupError(
                    f"Keystone has a provider {one.name} that is not this site's",
                    where=f"Keystone, identity provider {one.name}; identity.providers.{one.name}",
                    why="whoever made it may still use it; it is not changed",
                    remedy="write another name, or delete it when nobody uses it: openstack identity provider delete",
                )
            if found and (domain := self._domain(one.domain)) and found.domain_id != domain.id:
                raise GroundupError(
                    f"users of {one.name} are in another domain than {one.domain}",
                    where=f"Keystone, identity provider {one.name}; identity.providers.{one.name}.domain",
                    why="Keystone moves no provider to another domain",
                    remedy="write the domain it has; or take the provider out, run this, and write it again: its users "
                    "are then new ones",
                )
        if lacking:
            raise GroundupError(
                f"Keystone has no {', '.join(dict.fromkeys(lacking))}",
                where="identity.providers",
                why="the mapping gives roles there",
                remedy="create what is missing, or correct the names; groups are made with create: true",
            )

    def _lacking(self, role: Role) -> Iterator[str]:
        _, _, domain, project, name = role
        if not self._role(name):
            yield f"role {name}"
        if not self._project(domain, project):
            yield f"project {project} in domain {domain}"

    def _provider(self, one: IdentityProviderPlan) -> None:
        """Make the domain and groups first and the protocol last: before it nobody can log in."""
        domain: Any = self._domain(one.domain)
        if domain is None and self.changes.add(f"create domain {one.domain}"):
            self._known.pop(("domain", one.domain))
            domain = self.identity.create_domain(name=one.domain, description=f"{_MARK}users of {one.name}")
            self._known["domain", one.domain] = domain
        for group in one.groups:
            line = f"create group {group.name} in domain {one.domain}"
            if self._group(one.domain, group.name) is None and self.changes.add(line):
                self._known.pop(("group", one.domain, group.name))
                self.identity.create_group(name=group.name, domain_id=domain.id)
        self._mapping(one)
        wanted = {"remote_ids": [one.issuer], "is_enabled": True, "description": f"{_MARK}{self.plan.site}"}
        found = self.identity.find_identity_provider(one.name)
        if found is None:
            if self.changes.add(f"create provider {one.name}", name=f"provider {one.name}", after=dump(_shown(one))):
                self.identity.create_identity_provider(id=one.name, domain_id=domain.id, **wanted)
        elif other := {
            key: getattr(found, key) for key, value in wanted.items() if _differs(getattr(found, key), value)
        }:
            after = dump({key: wanted[key] for key in other})
            if self.changes.add(
                f"change provider {one.name}", name=f"provider {one.name}", before=dump(other), after=after
            ):
                self.identity.update_identity_provider(found, **{key: wanted[key] for key in other})
        self._protocol(one, exists=found is not None)

    def _mapping(self, one: IdentityProviderPlan) -> None:
        name, rules = f"{_OURS}{one.name}", list(one.rules)
        found = self.identity.find_mapping(name)
        if found is None:
            if self.changes.add(f"create mapping {name}", name=f"mapping {name}", after=dump({"rules": rules})):
                self.identity.create_mapping(id=name, rules=rules)
        elif found.rules != rules:
            before, after = dump({"rules": found.rules}), dump({"rules": rules})
            if self.changes.add(f"change mapping {name}", name=f"mapping {name}", before=before, after=after):
                self.identity.update_mapping(found, rules=rules)

    def _protocol(self, one: IdentityProviderPlan, *, exists: bool) -> None:
        mapping = f"{_OURS}{one.name}"
        found = self.identity.find_federation_protocol(one.name, PROTOCOL) if exists else None
        if found is None:
            if self.changes.add(f"create protocol {PROTOCOL} of {one.name}"):
                self.identity.create_federation_protocol(one.name, id=PROTOCOL, mapping_id=mapping)
        elif found.mapping_id != mapping and self.changes.add(f"change the mapping of {one.name}'s protocol"):
            self.identity.update_federation_protocol(one.name, found, mapping_id=mapping)

    def _give(self, role: Role) -> None:
        if self._held(role) is False and self.changes.add(f"give {_words(role)}"):
            self.identity.assign_project_role_to_group(*self._objects(role))

    def _take(self, role: Role) -> None:
        if self._held(role) and self.changes.add(f"take back {_words(role)}"):
            self.identity.unassign_project_role_from_group(*self._objects(role))

    def _held(self, role: Role) -> bool | None:
        """Return whether the group has the role; None when it is to be taken back and something of it is gone."""
        project, group, what = self._objects(role)
        if group is None or project is None or what is None:
            return False if group is None and project is not None and what is not None else None
        return bool(self.identity.validate_group_has_project_role(project, group, what))

    def _objects(self, role: Role) -> tuple[Any, Any, Any]:
        group_domain, group, domain, project, name = role
        return self._project(domain, project), self._group(group_domain, group), self._role(name)

    def _remove(self, planned: Sequence[str]) -> None:
        """Delete providers of ours that the site file no longer has."""
        for found in list(self.identity.identity_providers()):
            if found.description != f"{_MARK}{self.plan.site}" or found.id in planned:
                continue
            if self.changes.add(f"delete provider {found.id}"):
                for protocol in list(self.identity.federation_protocols(found.id)):
                    self.identity.delete_federation_protocol(found.id, protocol)
                self.identity.delete_identity_provider(found)
                self.identity.delete_mapping(f"{_OURS}{found.id}", ignore_missing=True)
            self.left.append(f"{found.id}: the domain {found.domain_id} with its users and groups")

    def _domain(self, name: str) -> Any | None:
        return self._find(("domain", name), lambda: self.identity.find_domain(name))

    def _role(self, name: str) -> Any | None:
        return self._find(("role", name), lambda: self.identity.find_role(name))

    def _group(self, domain: str, name: str) -> Any | None:
        return self._in(domain, "group", name, self.identity.find_group)

    def _project(self, domain: str, name: str) -> Any | None:
        return self._in(domain, "project", name, self.identity.find_project)

    def _in(self, domain: str, kind: str, name: str, find: Any) -> Any | None:
        owner = self._domain(domain)
        return owner and self._find((kind, domain, name), lambda: find(name, domain_id=owner.id))

    def _find(self, key: tuple[str, ...], find: Any) -> Any | None:
        if key not in self._known:
            self._known[key] = find()
        return self._known[key]


def _differs(found: Any, wanted: Any) -> bool:
    return sorted(found or ()) != wanted if isinstance(wanted, list) else bool(found != wanted)


def _words(role: Role) -> str:
    group_domain, group, domain, project, name = role
    return f"role {name} on project {project} ({domain}) to group {group} ({group_domain})"


def broken(plan: Plan, ask: Any) -> Mapping[str, str]:
    """Return the providers that Keystone sends nobody to, and why. ``ask``: asks a public name for a page."""
    from ..https import UnansweredError
    from ..services.federation import DISCOVERY, dashboard_origin, login_path
    from ..services.parts import public_endpoint

    identity = public_endpoint(plan, "keystone").name
    found: dict[str, str] = {}
    for one in plan.providers:
        url = f"https://{identity}{login_path(one.name)}?origin={dashboard_origin(plan)}"
        try:
            answer = ask("GET", url, headers={"Accept": "text/html"})
        except UnansweredError as error:
            found[one.name] = error.what
            continue
        if answer.status != 302:
            found[one.name] = (
                f"Keystone answers {answer.status}: its pods get no description from "
                f"{one.issuer.rstrip('/')}{DISCOVERY}, or trust no certificate of that server"
            )
        elif f"client_id={one.client_id}" not in answer.headers.get("location", "").replace("%3A", ":").replace(
            "%2F", "/"
        ):
            found[one.name] = (
                f"Keystone sends browsers to {answer.headers.get('location', 'nowhere').partition('?')[0]}"
            )
    return found
