"""What a cloud has of each kind, read once, and the ids of what the plan calls by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import GroundupError
from ...services.keystone import ADMIN
from .api import CloudApi
from .kinds import KINDS, SERVICES

if TYPE_CHECKING:
    from ...plan.part_types import ResourcePlan
    from ...plan.types import Plan

Found = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Index:
    """The resources of a cloud, beside a plan."""

    api: CloudApi
    plan: Plan
    lists: dict[str, list[Found]] = field(default_factory=dict)

    def served(self, name: str) -> bool:
        """Return whether the site has the service of a kind."""
        return SERVICES[KINDS[name].service] in self.plan.openstack.services

    def every(self, name: str) -> list[Found]:
        """Return what the cloud has of a kind, read once."""
        if name not in self.lists:
            kind = KINDS[name]
            if not kind.by_domain:
                self.lists[name] = self.api.list(kind)
            else:
                ours, identity = KINDS["domain"].ours, self.plan.identity
                # Of former accounts, too. A directory has none, and would be asked for all its users.
                others = {ADMIN["user_domain_name"], *(one.domain for one in identity.providers)} - {*identity.domains}
                wanted = others | {one.domain for one in self.plan.resources if one.kind == name}
                names = {one.casefold() for one in wanted}
                places = [one["id"] for one in self.every("domain")
                          if str(one["name"]).casefold() in names or ours(one, self.plan.site)]  # fmt: skip
                self.lists[name] = [each for place in places for each in self.api.list(kind, f"domain_id={place}")]
        return self.lists[name]

    def owner(self, one: ResourcePlan) -> str | None:
        """Return the id of a resource's project or domain; "" without one, None before it is there."""
        kind = KINDS[one.kind]
        if kind.owner == "domain_id":
            return self.named("domain", one.domain, "")
        if kind.owner and one.place:
            domain = self.named("domain", one.domain, "")
            return None if domain is None else self.named("project", one.place, domain)
        return self.admin if kind.owner else ""

    def named(self, kind: str, name: str, owner: str) -> str | None:
        """Return the id of what has that name and owner."""
        found = (one for one in self.every(kind) if self.matches(kind, one, name, owner))
        return next((str(one["id"]) for one in found), None)

    def matches(self, kind: str, found: Found, name: str, owner: str) -> bool:
        """Return whether ``found`` has that name and owner: Keystone and Designate take all letters for small ones."""
        place, there = KINDS[kind].owner, str(found["name"])
        alike = there.casefold() == name.casefold() if KINDS[kind].service in ("identity", "dns") else there == name
        return alike and (not place or str(found.get(place) or "") == owner)

    def ids(self, value: Any, one: ResourcePlan, *, made: bool = True) -> Any:
        """Return ``value`` with ids for references. Unless ``made``, names in angle brackets stand for planned ones.

        Raises GroundupError for what nobody has.
        """
        if isinstance(value, Mapping) and "$id" in value:
            kind, name = str(value["$id"]), str(value["name"])
            if (found := self._id(kind, name, one)) is not None:
                return found
            if made or not any(each.kind == kind and each.name == name for each in self.plan.resources):
                raise GroundupError(
                    f"there is no {kind.replace('_', ' ')} {name} for {one.kind.replace('_', ' ')} {one.name}",
                    where=f"site file key {one.key}", why="it needs it", remedy="correct the name, or write it, too",
                )  # fmt: skip
            return f"<{name}>"
        if isinstance(value, Mapping):
            return {key: self.ids(inner, one, made=made) for key, inner in value.items()}
        return [self.ids(inner, one, made=made) for inner in value] if isinstance(value, list) else value

    def _id(self, kind: str, name: str, one: ResourcePlan) -> str | None:
        """Return the id of what ``one`` calls ``name``: of its own project, else the administrator's, else shared."""
        if kind == "project":
            planned = (each for each in self.plan.resources if each.kind == kind and each.name == name)
            owner = next((self.named("domain", each.domain, "") for each in planned), None)
            return self.named(kind, name, owner) if owner else None
        for owner in (self.owner(one), self.admin) if KINDS[kind].owner else ("",):
            if owner is not None and (found := self.named(kind, name, owner)) is not None:
                return found
        shared = [each for each in self.every(kind) if each["name"] == name
                  and (each.get("router:external") or each.get("shared"))]  # fmt: skip
        return str(shared[0]["id"]) if len(shared) == 1 else None

    @property
    def admin(self) -> str:
        """Return the id of the administrator's project."""
        return str(self.api.cloud.current_project_id)

    def project(self, name: str, found: Found) -> str:
        """Return the name of the project that owns a resource, "" without one."""
        owner = found.get(KINDS[name].owner) if KINDS[name].owner != "domain_id" else None
        return next((str(one["name"]) for one in self.every("project") if one["id"] == owner), "") if owner else ""
