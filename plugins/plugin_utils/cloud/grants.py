"""Roles of groups: those of the site file are given, and taken back when it no longer has them.

Each domain has a list of the roles that runs gave to its groups, as a property in Keystone. What is not in the list was
given by somebody else, and stays. A domain with a list that the site file does not have is a former one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...module_utils._base.changes import Changes
from ..errors import GroundupError
from ..services.federation import OWN_DOMAINS
from .administrator import UnreachedError
from .keystone import Keystone

if TYPE_CHECKING:
    from ..plan.part_types import RolePlan

MARK = "groundup_roles"  # the property: path of an assignment -> what it is
_ID = "[0-9A-Za-z_-]{1,64}"
_PATH = re.compile(f"/(projects|domains)/{_ID}/groups/{_ID}/roles/{_ID}")
_WHY = "its groups have not all the roles of the site file, or former ones"


@dataclass(slots=True, kw_only=True)
class Grants:
    """Roles of a Keystone's groups."""

    keystone: Keystone
    changes: Changes
    coming: Collection[str] = ()  # changes of a dry run that others predict: "create project web of domain acme"
    faults: list[GroundupError] = field(default_factory=list)  # one domain's keep no other one from its roles

    def check(self, wanted: Mapping[str, Sequence[RolePlan]]) -> None:
        """Raise GroundupError for roles, and domains of projects, that Keystone lacks; before anything is changed."""
        every = [role for roles in wanted.values() for role in roles]
        if not every:
            return
        roles, made = _by_name(self.keystone.all("roles")), {name.casefold() for name in wanted}
        domains = made | _by_name(self.keystone.all("domains")).keys()
        coming = {line.casefold() for line in self.coming}
        roles |= {one.role.casefold(): {} for one in every if f"create role {one.role}".casefold() in coming}
        domains |= {one.domain.casefold() for one in every if f"create domain {one.domain}".casefold() in coming}
        lacking = [f"role {one.role}" for one in every if one.role.casefold() not in roles]
        lacking += [f"domain {one.domain}" for one in every if one.domain.casefold() not in domains]
        if lacking:
            raise GroundupError(
                f"Keystone has no {', '.join(dict.fromkeys(lacking))}",
                where="site file key identity",
                why="roles of groups are given there",
                remedy="create what is missing (openstack role create, openstack domain create), or correct the names",
            )

    def converge(self, wanted: Mapping[str, Sequence[RolePlan]], *, silent: Collection[str] = ()) -> None:
        """Give and take back. ``wanted``: roles by the domain of their groups; ``silent``: domains left as they are."""
        domains, planned = _by_name(self.keystone.all("domains")), {name.casefold(): name for name in wanted}
        for key, domain in sorted(domains.items()):
            if (key in OWN_DOMAINS and key not in planned) or planned.get(key) in silent:
                continue
            try:
                if key in planned:
                    self._domain(domain, wanted[planned[key]], domains)
                elif domain.get(MARK) is not None:
                    self._former(domain)
            except UnreachedError:
                raise
            except GroundupError as error:
                self.faults.append(error)
        for key, name in planned.items():
            if key in domains or name in silent:
                continue
            for role in wanted[name]:
                self._foresee(name, role, domains)
            if not self.changes.check:
                self.faults.append(_fault(name, f"Keystone has no domain {name}", "run groundup.cloud.openstack again"))

    def _domain(self, domain: dict[str, Any], roles: Sequence[RolePlan], domains: Mapping[str, Any]) -> None:
        name, ours = str(domain["name"]), _recorded(domain)
        found: dict[str, str] = {}
        for role in roles:
            path = self._path(domain, role, domains)
            if path is None:  # predicted
                self._foresee(name, role, domains)
            else:
                found[path] = _said(name, role)
        given = [path for path in found if not self._there(path)]
        # Before they are given: what a killed run gave is taken back some day, too.
        self._mark(domain, {**ours, **{path: found[path] for path in given}})
        for path in given:
            if self.changes.add(f"give {found[path]}"):
                self.keystone.call("PUT", path)
        for path, said in ours.items():
            if path not in found and self._there(path) and self.changes.add(f"take back {said}"):
                self.keystone.call("DELETE", path, absent=True)
        self._mark(domain, {path: found[path] for path in (*ours, *given) if path in found})

    def _former(self, domain: dict[str, Any]) -> None:
        """Take back all of a domain's roles, and tell how it goes. It stays: others may have given its groups more."""
        name = domain["name"]
        how = f"openstack domain set --disable {name}; openstack domain delete {name}"
        try:
            self._domain(domain, (), {})
        except UnreachedError:
            raise
        except GroundupError as error:
            said = f"roles of domain {name}, which is no longer in the site file, are not taken back: {error.what}"
            remedy = f"let its directory answer once more, and run this again; or end its users' access: {how}"
            raise _fault(name, said, remedy) from error
        directory = self.keystone.call("GET", f"/domains/{domain['id']}/config", absent=True) is not None
        if not directory:  # no login leads there: told once
            self._mark(domain, None)
        if domain.get("enabled", True):
            stays = "its users log in as before" if directory else "with its users and groups"
            self.changes.warnings.append(f"domain {name} is no longer in the site file, and stays, {stays}: {how}")

    def _path(self, domain: Mapping[str, Any], role: RolePlan, domains: Mapping[str, Any]) -> str | None:
        """Return the path of a role's assignment, its project made; None in a dry run before there is one."""
        name = str(domain["name"])
        group = self.keystone.named("groups", role.group, domain_id=domain["id"])
        if group is None:
            # No directory yet, perhaps: the group cannot be asked for.
            new = f"create group {role.group} of domain {name}"
            made = domain.get(MARK) is None or new in self.changes.done or new in self.coming
            if self.changes.check and made:
                return None
            said = f"domain {name} has no group {role.group}"
            raise _fault(name, said, "correct the name, or groups.filter, groups.object_class and groups.name")
        place = domains.get(role.domain.casefold())
        if place is None:
            if self.changes.check:
                return None
            raise _fault(name, f"Keystone has no domain {role.domain}", "run groundup.cloud.openstack again")
        found = self.keystone.named("roles", role.role)
        if found is None and self.changes.check:
            return None
        if found is None:
            raise _fault(name, f"Keystone has no role {role.role}", f"openstack role create {role.role}")
        end = f"groups/{group['id']}/roles/{found['id']}"
        if role.project is None:
            return f"/domains/{place['id']}/{end}"
        project = self.keystone.named("projects", role.project, domain_id=place["id"])
        if project is None:
            if self.changes.check:
                return None
            self.changes.add(_made(role))
            body = {"project": {"name": role.project, "domain_id": place["id"]}}
            project = self.keystone.call("POST", "/projects", body)["project"]
        return f"/projects/{project['id']}/{end}"

    def _foresee(self, name: str, role: RolePlan, domains: Mapping[str, Any]) -> None:
        """Record a role that is to be given, and its project if it is to be made."""
        if role.project and self.changes.check and _made(role) not in (*self.changes.done, *self.coming):
            place = domains.get(role.domain.casefold())
            if place is None or not self.keystone.named("projects", role.project, domain_id=place["id"]):
                self.changes.add(_made(role))
        if self.changes.check:
            self.changes.add(f"give {_said(name, role)}")

    def _there(self, path: str) -> bool:
        """Return whether an assignment is there, of a group that its directory no longer shows, too."""
        kind, place, _, group, _, role = path.strip("/").split("/")
        kind = kind.removesuffix("s")
        filters = {"group.id": group, "role.id": role, f"scope.{kind}.id": place}
        return any(
            (one["role"]["id"], one.get("group", {}).get("id"), one["scope"].get(kind, {}).get("id"))
            == (role, group, place) and "OS-INHERIT:inherited_to" not in one["scope"]
            for one in self.keystone.all("role_assignments", **filters)
        )  # fmt: skip

    def _mark(self, domain: dict[str, Any], ours: dict[str, str] | None) -> None:
        """Write into the domain which assignments are ours, if that is another list than before."""
        if not self.changes.check and domain.get(MARK) != ours:
            self.keystone.call("PATCH", f"/domains/{domain['id']}", {"domain": {MARK: ours}})
            domain[MARK] = ours


def foresee(wanted: Mapping[str, Sequence[RolePlan]], changes: Changes) -> None:
    """Record the roles that a cloud not deployed yet will get."""
    for name, roles in wanted.items():
        for role in roles:
            changes.add(f"give {_said(name, role)}")


def _recorded(domain: Mapping[str, Any]) -> dict[str, str]:
    """Return a domain's list. Raises GroundupError for one that no run wrote: each path of it would be deleted."""
    found = domain.get(MARK)
    if found is None:
        return {}
    if isinstance(found, dict) and all(_PATH.fullmatch(path) and isinstance(found[path], str) for path in found):
        return dict(found)
    raise _fault(
        str(domain["name"]), f"the property {MARK} of domain {domain['name']} is no list that a run wrote",
        f"take back by hand what is too much (openstack role assignment list --names), then write {{}} into the "
        f"property: PATCH /v3/domains/{domain['id']}",
    )  # fmt: skip


def _by_name(objects: Any) -> dict[str, dict[str, Any]]:
    return {str(one["name"]).casefold(): one for one in objects}


def _fault(domain: str, what: str, remedy: str) -> GroundupError:
    return GroundupError(what, where=f"Keystone, domain {domain}; site file key identity", why=_WHY, remedy=remedy)


def _made(role: RolePlan) -> str:
    return f"create project {role.project} of domain {role.domain}"


def _said(name: str, role: RolePlan) -> str:
    on = f"project {role.project} of domain {role.domain}" if role.project else f"domain {role.domain}"
    return f"role {role.role} on {on} to group {role.group} of {name}"
