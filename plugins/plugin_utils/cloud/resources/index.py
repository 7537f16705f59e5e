"""What a cloud has of each kind, read once, and the ids of what the plan calls by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


class UnmetError(GroundupError):
    """A resource needs what neither the site file nor the cloud has."""


@dataclass(slots=True, kw_only=True)
class Index:
    """The resources of a cloud, beside a plan."""

    api: CloudApi
    plan: Plan
    adopt: bool = False  # whether what others made is taken over
    lists: dict[str, list[Found]] = field(default_factory=dict)
    chosen: dict[str, Found | None] = field(default_factory=dict)  # key in the site file -> what it is in the cloud
    alike: dict[str, list[Found]] = field(default_factory=dict)  # others of that name and place

    def served(self, name: str) -> bool:
        """Return whether the site has the service of a kind."""
        return SERVICES[KINDS[name].service] in self.plan.openstack.services

    def every(self, name: str) -> list[Found]:
        """Return what the cloud has of a kind, read once."""
        if name not in self.lists:
            kind = KINDS[name]
            if not kind.by_domain:
                every = [*self.api.list(kind), *(self.api.list(kind, kind.also) if kind.also else ())]
                self.lists[name] = list({str(one["id"]): one for one in every}.values())
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
            project = next((each for each in self.plan.resources if _is_project(each, one)), None)
            found = self.choose(project) if project else None
            return str(found["id"]) if found else None
        return self.admin if kind.owner else ""

    def choose(self, one: ResourcePlan) -> Found | None:
        """Return what ``one`` is in the cloud: what has the mark, by a run, and is older than copies of it.

        Members of a project may give its things any name and description: the others of that name are not ours.
        """
        if one.key not in self.chosen:
            kind, owner, site = KINDS[one.kind], self.owner(one), self.plan.site
            same = [each for each in self.every(one.kind) if owner is not None and kind.there(each)
                    and self.matches(one.kind, each, one.name, owner)]  # fmt: skip
            marked = [each for each in same if kind.ours(each, site) and (
                not self.forgeable(one.kind, each) or self.api.ledger.accepts(str(each["id"]), one.key))]  # fmt: skip
            # In a project, what looks half made may be a tenant's copy of what was made long ago.
            half = [each for each in same if not one.place and kind.unfinished(each, site)]
            mine = min(
                marked or half, key=lambda each: (str(each.get("created_at") or ""), str(each["id"])), default=None
            )
            if mine is None and self.adopt and len(same) == 1 and one.kind != "image":  # nobody compared its content
                mine = same[0]
            if mine is not None:
                self.api.ledger.made.add(str(mine["id"]))
            self.chosen[one.key], self.alike[one.key] = mine, [each for each in same if each is not mine]
        return self.chosen[one.key]

    def known(self) -> set[int]:
        """Return what has a name of the site file, by `id()`."""
        return {id(each) for found in (*self.alike.values(), [*filter(None, self.chosen.values())]) for each in found}

    def forgeable(self, name: str, found: Found) -> bool:
        """Return whether others than the cloud's administrators may write the mark of ``found``."""
        return bool(KINDS[name].owner) and found.get(KINDS[name].owner) != self.admin

    def managed(self, name: str, found: Found) -> bool:
        """Return whether ``found`` is in a place of the site file's, or was: in one that is left, nothing goes."""
        if not self.forgeable(name, found) or KINDS[name].owner == "domain_id":
            return True
        place = next((one for one in self.every("project") if one["id"] == found.get(KINDS[name].owner)), None)
        return place is None or KINDS["project"].ours(place, self.plan.site) or place in self.chosen.values()

    def copied(self, name: str, found: Found) -> bool:
        """Return whether ``found`` has a mark that no run gave it, as far as runs have kept."""
        return self.forgeable(name, found) and str(found["id"]) not in self.api.ledger.made

    def needs(self, one: ResourcePlan) -> Iterator[str]:
        """Yield the keys of what ``one`` cannot be made or changed without."""
        if one.place:
            yield from (each.key for each in self.plan.resources if _is_project(each, one))
        for kind, name in _references([one.values, one.parts]):
            yield from (each.key for each in self._meant(kind, name, one)[:1])

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

        Raises UnmetError for what nobody has.
        """
        if isinstance(value, Mapping) and "$id" in value:
            kind, name = str(value["$id"]), str(value["name"])
            if (found := self._id(kind, name, one)) is not None:
                return found
            if made or not any(each.kind == kind and each.name == name for each in self.plan.resources):
                raise UnmetError(
                    f"there is no {kind.replace('_', ' ')} {name} for {one.kind.replace('_', ' ')} {one.name}",
                    where=f"site file key {one.key}", why="it needs it", remedy="correct the name, or write it, too",
                )  # fmt: skip
            return f"<{name}>"
        if isinstance(value, Mapping):
            return {key: self.ids(inner, one, made=made) for key, inner in value.items()}
        return [self.ids(inner, one, made=made) for inner in value] if isinstance(value, list) else value

    def _id(self, kind: str, name: str, one: ResourcePlan) -> str | None:
        """Return the id of what ``one`` calls ``name``: of the site file, else the administrator's, else shared.

        A tenant's of that name is never meant.
        """
        if meant := self._meant(kind, name, one):
            found = self.choose(meant[0])
        else:
            owner = self.admin if KINDS[kind].owner else ""
            same = [each for each in self.every(kind) if self.matches(kind, each, name, owner)]
            if len(same) > 1:
                what, ids = kind.replace("_", " "), ", ".join(str(each["id"]) for each in same)
                raise UnmetError(
                    f"{one.kind.replace('_', ' ')} {one.name} needs {what} {name}, and {len(same)} have this name: "
                    f"{ids}", where=f"site file key {one.key}", why="it could be either",
                    remedy="rename the others in the cloud",
                )  # fmt: skip
            found = same[0] if same else None
            elsewhere = (self.choose(each) for each in self.plan.resources if (each.kind, each.name) == (kind, name))
            for each in elsewhere:
                if found is None and each and (each.get("router:external") or each.get("shared")):
                    found = each
        return str(found["id"]) if found else None

    def _meant(self, kind: str, name: str, one: ResourcePlan) -> list[ResourcePlan]:
        """Return what of the site file ``one`` may call ``name``, the likeliest first."""
        same = [each for each in self.plan.resources if (each.kind, each.name) == (kind, name)]
        if kind == "project" or not KINDS[kind].owner:
            return same
        own = [each for each in same if (each.place, each.domain) == (one.place, one.domain)]
        return own or [each for each in same if not each.place]

    @property
    def admin(self) -> str:
        """Return the id of the administrator's project."""
        return str(self.api.cloud.current_project_id)

    def project(self, name: str, found: Found) -> str:
        """Return the name of the project that owns a resource, "" without one."""
        owner = found.get(KINDS[name].owner) if KINDS[name].owner != "domain_id" else None
        return next((str(one["name"]) for one in self.every("project") if one["id"] == owner), "") if owner else ""


def _is_project(project: ResourcePlan, one: ResourcePlan) -> bool:
    return (project.kind, project.name, project.domain) == ("project", one.place, one.domain)


def _references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield kind and name of what ``value`` refers to."""
    if isinstance(value, Mapping) and "$id" in value:
        yield str(value["$id"]), str(value["name"])
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _references(inner)
