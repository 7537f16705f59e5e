"""Converge resources: read all, compare, refuse what must not be, then make, change and, if asked to, delete.

All differences are known before the first change. A resource is marked in the request that makes it, so that a killed
run goes on: what is there is found, what lacks is made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import collapse_addresses, ip_network
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ....module_utils._base.changes import Changes
from ....module_utils._base.yaml_text import dump
from ...errors import GroundupError
from ..connection import answered
from .api import CloudApi
from .holds import Holder, unseen
from .index import Index
from .kinds import KINDS, PROPERTY, SELF, SERVICES
from .parts import ordered

if TYPE_CHECKING:
    from ...plan.part_types import ResourcePlan
    from ...plan.types import Plan
    from ...vault import Store

ADOPT, DELETE = "adopt", "delete"
Found = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """What differs of one resource."""

    planned: ResourcePlan
    found: Found | None  # None: to be made
    fields: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # before, after


def label(kind: str, name: str, *, project: str = "", domain: str = "") -> str:
    """Return what a resource is called in messages."""
    place = f" of project {project}" if project else f" of domain {domain}" if domain else ""
    return f"{kind.replace('_', ' ')} {name}{place}"


def said(one: ResourcePlan) -> str:
    """Return what a planned resource is called in messages."""
    return label(one.kind, one.name, project=one.place, domain="" if one.place else one.domain)


def foresee(plan: Plan, changes: Changes) -> None:
    """Record the resources that a cloud not deployed yet will get."""
    for one in plan.resources:
        changes.add(f"create {said(one)}", name=said(one), after=shown({**one.values, **one.parts}))


@dataclass(slots=True, kw_only=True)
class Resources:
    """The resources of a plan, and of a cloud."""

    api: CloudApi
    plan: Plan
    changes: Changes
    store: Store | None = None  # None: nothing is made
    force: Collection[str] = ()
    index: Index = field(init=False)
    matched: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Look at the cloud as the plan names it."""
        self.index = Index(api=self.api, plan=self.plan)

    def converge(self) -> None:
        """Make the cloud as planned. Raises GroundupError."""
        if not self.plan.resources and DELETE not in self.force:
            return
        steps, refusals = list[Step](), list[str]()
        for one in self.plan.resources:
            with answered(said(one)):
                step, refused = self._compare(one)
            steps += [step] if step else []
            refusals += refused
        former = [(name, found) for name in reversed(KINDS) if self.index.served(name) for found in self._former(name)]
        if DELETE in self.force:
            refusals += self._held(former)
        if refusals:
            raise GroundupError(
                "; ".join(refusals), where="site file key cloud", why="nothing was changed",
                remedy="write what is there, or another name; to take it over: -e resources_force=[adopt]",
            )  # fmt: skip
        for name in KINDS:
            made = [self._apply(step) for step in steps if step.planned.kind == name]
            for done in filter(None, made):
                self._write_parts(*done)
        self._remove(former)

    def _compare(self, one: ResourcePlan) -> tuple[Step | None, list[str]]:
        kind, what = KINDS[one.kind], said(one)
        if not self.index.served(one.kind):
            return None, [f"{what}: the site has no {SERVICES[kind.service]}"]
        found, owner = None, self.index.owner(one)
        if owner is not None:
            same = [each for each in self.index.every(one.kind) if self.index.matches(one.kind, each, one.name, owner)]
            if len(same) > 1:
                return None, [f"{len(same)} are called {what}: {', '.join(str(each['id']) for each in same)}"]
            found = same[0] if same else None
        try:
            wanted, parts_ = self.index.ids([self._values(one, found), self._parts(one)], one, made=False)
        except GroundupError as error:
            return None, [error.what]
        if found is None:
            return Step(one, None), []
        self.matched.add(id(found))
        if not (kind.ours(found, self.plan.site) or kind.unfinished(found, self.plan.site) or ADOPT in self.force):
            return None, [f"{what} is there, and not from this site file"]
        fields = {
            key: value for key, value in wanted.items() if key in found and not same_value(key, found[key], value)
        }  # fmt: skip
        fields |= {key: wanted[key] for key in wanted.keys() - found.keys() if kind.service == "image"}
        refused = [
            f"{what}: {key} is {found.get(key)} and cannot become {fields[key]}" for key in kind.fixed if key in fields
        ]  # fmt: skip
        parts: dict[str, tuple[Any, Any]] = {}
        for name, value in parts_.items():
            part, after = kind.parts[name], form(value)
            if (before := part.read(self.api, found, after)) != after:
                parts[name] = before, after
                refused += [f"{what}: {why}" for why in part.refuse(self.api, found, after)]
                if part.fixed and before:
                    refused.append(f"{what}: {name} cannot be changed; delete it, or write another name")
        return (Step(one, found, fields, parts) if fields or parts else None), refused

    def _apply(self, step: Step) -> tuple[Step, Found, dict[str, Any]] | None:
        """Make or change a resource; return it with the parts that are to be written; None in a dry run."""
        one, kind, what = step.planned, KINDS[step.planned.kind], said(step.planned)
        if step.found is not None:
            before = {key: step.found.get(key) for key in step.fields} | {
                key: two[0] for key, two in step.parts.items()
            }
            after = step.fields | {key: two[1] for key, two in step.parts.items()}
            line = f"change {what}: {', '.join(sorted(after))}"
            if not self.changes.add(line, name=what, before=dump(before), after=dump(after)):
                return None
            if step.fields:
                fields = {key: value for key, value in self._values(one, step.found).items() if key in step.fields}
                with answered(what):
                    self.api.update(kind, step.found, self.index.ids(fields, one))
            return step, step.found, {key: value for key, value in self._parts(one).items() if key in step.parts}
        if not self.changes.add(f"create {what}", name=what, after=shown({**one.values, **one.parts})):
            return None
        values = self.index.ids(self._values(one), one)
        body = {
            "name": one.name,
            **{key: value for key, value in values.items() if value is not None or key == "gateway_ip"},
        }
        body |= self._parts(one).get(kind.inline, {})
        owner = self.index.owner(one)
        if kind.owner and (one.kind != "dns_zone"):
            body[kind.owner] = owner
        with answered(what):
            found = self.api.create(kind, self._secrets(body), project=str(owner))
        self.index.every(one.kind).append(found)
        self.matched.add(id(found))
        return step, found, self._parts(one)

    def _write_parts(self, step: Step, found: Found, parts: Mapping[str, Any]) -> None:
        one, kind = step.planned, KINDS[step.planned.kind]
        with answered(said(one)):
            for name, value in parts.items():
                after = form(self.index.ids(value, one))
                before = kind.parts[name].read(self.api, found, after)
                if before != after:
                    kind.parts[name].write(self.api, found, before, self._secrets(after))

    def _former(self, name: str) -> Iterator[Found]:
        kind = KINDS[name]
        with answered(f"{name}s"):
            for found in self.index.every(name):
                if kind.mark and id(found) not in self.matched and kind.ours(found, self.plan.site):
                    yield found

    def _remove(self, former: list[tuple[str, Found]]) -> None:
        """Delete what is ours and no longer in the file if that is asked for; else tell it."""
        names = [label(name, str(found["name"]), project=self.index.project(name, found)) for name, found in former]
        if former and DELETE not in self.force:
            self.changes.warnings.append(
                f"{len(names)} are no longer in the site file, and stay: {', '.join(names)}. To delete them: "
                "groundup.cloud.resources -e resources_force=[delete]"
            )
            return
        for what, (name, found) in zip(names, former, strict=True):
            if not self.changes.add(f"delete {what}", name=what, before=dump({"id": found["id"]})):
                continue
            with answered(what):
                kind = KINDS[name]
                for part in ("interfaces", "hosts"):
                    if part in kind.parts:
                        kind.parts[part].write(self.api, found, kind.parts[part].read(self.api, found, []), [])
                if name == "domain":
                    self.api.update(kind, found, {"enabled": False})
                self.api.delete(kind, found)
                if name == "project" and self.index.served("security_group"):
                    path = f"/security-groups?project_id={found['id']}&name=default"
                    for group in self.api.all("network", path, "security_groups"):
                        self.api.delete(KINDS["security_group"], group)

    def _held(self, former: list[tuple[str, Found]]) -> Iterator[str]:
        """Yield why what goes must not be deleted; warn of what a dry run does not look for."""
        going = {str(one["id"]) for _, one in former}
        # Of the catalog, too: a service that has left the site file has not lost what it holds.
        there = self.api.services() if former else ()
        services = {*self.plan.openstack.services, *(SERVICES[one] for one in there if one in SERVICES)}
        holder = Holder(api=self.api, services=services, going=going)
        for name, found in former:
            yield from holder.refusals(name, found, dry=self.changes.check)
        projects = [str(found["name"]) for name, found in former if name == "project"]
        if self.changes.check and projects and (left := unseen("project", services)):
            self.changes.warnings.append(
                f"only a run without --check looks for {', '.join(left)} of projects that go ({', '.join(projects)}): "
                "it refuses before the first change"
            )

    def _values(self, one: ResourcePlan, found: Found | None = None) -> dict[str, Any]:
        """Return the fields of a resource with its mark. ``found``: None for a new one."""
        kind, values = KINDS[one.kind], dict(one.values)
        if kind.mark == "description":
            values["description"] = kind.text(str(values.get("description") or ""), self.plan.site)
        elif kind.mark == "property" and not kind.at:
            identity = found["id"] if found else str(uuid4())
            values |= {PROPERTY: self.plan.site, SELF: identity, **({} if found else {"id": identity})}
        return values

    def _parts(self, one: ResourcePlan) -> dict[str, Any]:
        """Return the parts of a resource; its mark is in one of them, perhaps."""
        at, parts = KINDS[one.kind].at, dict(one.parts)
        return {**parts, at: {**parts[at], PROPERTY: self.plan.site}} if at else parts

    def _secrets(self, value: Any) -> Any:
        return self.store.resolve(value) if self.store else value


def shown(value: Any) -> str:
    """Return what is wanted of a new resource as text, with names for references."""

    def plain(part: Any) -> Any:
        if isinstance(part, Mapping) and ("$id" in part or "$secret" in part):
            return f"<{part.get('name') or part['$secret']}>"
        if isinstance(part, Mapping):
            return {key: plain(inner) for key, inner in part.items() if inner not in ("", None, [], {})}
        return [plain(inner) for inner in part] if isinstance(part, list) else part

    return dump(plain(value))


def same_value(key: str, found: Any, wanted: Any) -> bool:
    """Return whether a field says the same: lists in any order, prefixes merged, of mappings what is wanted alone."""
    if key == "prefixes":
        return _merged(found) == _merged(wanted)
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return all(same_value(inner, found.get(inner), value) for inner, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return bool(ordered(found) == ordered(wanted))
    if isinstance(wanted, int) and isinstance(found, str) and found.isdigit():
        return int(found) == wanted  # Neutron's default_prefixlen
    return bool((found or None) == (wanted or None))


def form(value: Any) -> Any:
    """Return the wanted value of a part as parts read it."""
    return ordered(value) if isinstance(value, list) else value


def _merged(prefixes: list[str]) -> list[str]:
    networks = [ip_network(one) for one in prefixes]
    return [str(one) for kind in (4, 6) for one in collapse_addresses(n for n in networks if n.version == kind)]  # type: ignore[type-var]
