"""Converge resources: read all, compare, refuse what must not be, then make, change and, if asked to, delete.

All differences are known before the first change. A resource is marked in the request that makes it, so that a killed
run goes on: what is there is found, what lacks is made.

Members of projects may make and change what is in them. So what is refused there is left, with all that needs it, and
told at the end; it keeps nobody else's from being made. What only administrators can make stops a run before a change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ....module_utils._base.changes import Changes
from ....module_utils._base.yaml_text import dump
from ...errors import GroundupError
from ..administrator import UnreachedError
from ..connection import ERRORS, answered
from . import compare
from .api import CloudApi
from .compare import Found, Step, form, label, of_tenants, said, shown
from .holds import Holder, take_back, unseen
from .index import Index, UnmetError
from .kinds import KINDS, SERVICES

if TYPE_CHECKING:
    from ...plan.part_types import ResourcePlan
    from ...plan.types import Plan
    from ...vault import Store

ADOPT, DELETE = "adopt", "delete"
_NAMED = 3  # of many, in a message
_REMEDY = "write what is there, or another name; to take it over: -e resources_force=[adopt]"


class ResourcesLeftError(GroundupError):
    """Resources of projects are left as they are; all else is made."""


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
    left: dict[str, str] = field(default_factory=dict)  # key in the site file -> why; "": it needs another one

    def __post_init__(self) -> None:
        """Look at the cloud as the plan names it."""
        self.index = Index(api=self.api, plan=self.plan, adopt=ADOPT in self.force)

    def converge(self) -> list[str]:
        """Make the cloud as planned; return what was there and did not work.

        Raises GroundupError before a change, ResourcesLeftError after all that could be done.
        """
        self.changes.warnings += take_back(self.api, dry=self.changes.check)
        if not self.plan.resources and DELETE not in self.force:
            return []
        steps, refusals = self._compare()
        former, copies = self._former()
        if DELETE in self.force:
            refusals += self._held(former)
        if refusals:
            every = [*refusals, *filter(None, self.left.values())]
            raise GroundupError(
                "; ".join(every), where="site file key cloud", why="nothing was changed", remedy=_REMEDY
            )  # fmt: skip
        self.changes.warnings += [line for one in self.plan.resources for line in compare.noticed(self.index, one)]
        if copies:
            first = [f"{self._labels([one])[0]} ({one[1]['id']})" for one in copies[:_NAMED]]
            self.changes.warnings.append(
                f"{len(copies)} have this site's mark, and no run has kept that it made them: they stay, as what "
                f"others make: {', '.join(first)}{', ...' * (len(copies) > _NAMED)}"
            )
        if not self.changes.check:
            new = [step.planned for step in steps if step.found is None]
            self.api.ledger.begin({one.key: str(uuid4()) if one.kind == "image" else "" for one in new})
        halting = [compare.unsettled(self.index, one) for one in self.plan.resources]
        self.changes.warnings += [line for line, _ in halting if line]
        for name in KINDS:
            made = [self._apply(step) for step in steps if step.planned.kind == name]
            for done in filter(None, made):
                self._write_parts(*done)
        gone = self._remove(former)
        if not self.changes.check:
            there = {key: str(found["id"]) for key, found in self.index.chosen.items() if found}
            self.api.ledger.end(there, gone)
        if self.left:
            self._tell()
        return [line for line, begun in halting if line and not begun]

    def _compare(self) -> tuple[list[Step], list[str]]:
        """Return what differs, and what is refused before a change."""
        steps, refusals = list[Step](), list[str]()
        for one in self.plan.resources:
            try:
                with self._attempt(one):
                    step, refused = compare.compare(self.index, one)
                    steps += [step] if step else []
                    if refused and of_tenants(one):
                        self.left[one.key] = "; ".join(refused)
                    else:
                        refusals += refused
            except UnmetError as error:
                refusals.append(error.what)
        gone = {key for key in self.left if self.index.chosen.get(key) is None}
        for one in self.plan.resources:
            if one.key in self.left and not gone.isdisjoint(self.index.needs(one)):
                self.left[one.key] = ""  # what differs of it follows from that
        return steps, refusals

    @contextmanager
    def _attempt(self, one: ResourcePlan) -> Iterator[None]:
        """Leave ``one`` if the cloud refuses it and tenants may be why: a quota, a name, a network that they made."""
        try:
            with answered(said(one)):
                yield
        except UnreachedError:
            raise
        except GroundupError as error:
            if not of_tenants(one) or not isinstance(error.__cause__, ERRORS):
                raise
            self.left[one.key] = f"{said(one)}: {error.what}"

    def _leaves(self, one: ResourcePlan) -> bool:
        """Return whether ``one`` is left, or needs what is left and not there."""
        gone = {key for key in self.left if self.index.chosen.get(key) is None}
        if gone and one.key not in self.left and not gone.isdisjoint(self.index.needs(one)):
            self.left[one.key] = ""
        return one.key in self.left

    def _tell(self) -> None:
        """Raise ResourcesLeftError with what is left."""
        while any(self._leaves(one) for one in self.plan.resources if one.key not in self.left):
            pass
        needing = [said(one) for one in self.plan.resources if self.left.get(one.key) == ""]
        also = f"; left with that: {', '.join(needing)}" if needing else ""
        raise ResourcesLeftError(
            "; ".join(filter(None, self.left.values())) + also, where="site file key cloud",
            why="it stays as it is; all else is as the site file says", remedy=_REMEDY,
        )  # fmt: skip

    def _apply(self, step: Step) -> tuple[Step, Found, dict[str, Any]] | None:
        """Make or change a resource; return it with the parts that are to be written; None in a dry run."""
        one, kind, what = step.planned, KINDS[step.planned.kind], said(step.planned)
        if self._leaves(one):
            return None
        if step.found is None:
            anew = f" anew: a killed run left it {step.broken['status']}" if step.broken else ""
            go = self.changes.add(f"create {what}{anew}", name=what, after=shown({**one.values, **one.parts}))
        else:
            before = {key: step.found.get(key) for key in step.fields}
            before |= {key: two[0] for key, two in step.parts.items()}
            after = step.fields | {key: two[1] for key, two in step.parts.items()}
            line = f"change {what}: {', '.join(sorted(after))}"
            go = self.changes.add(line, name=what, before=dump(before), after=dump(after))
        with self._attempt(one):
            if go and step.found is None:
                return step, self._create(one, step.broken), compare.parts(self.index, one)
            if go and step.found is not None:
                if step.fields:
                    values = compare.values(self.index, one, step.found)
                    fields = {key: value for key, value in values.items() if key in step.fields}
                    self.api.update(kind, step.found, self.index.ids(fields, one))
                parts = compare.parts(self.index, one)
                return step, step.found, {key: value for key, value in parts.items() if key in step.parts}
        return None

    def _create(self, one: ResourcePlan, broken: Found | None) -> Found:
        kind, owner = KINDS[one.kind], self.index.owner(one)
        values = self.index.ids(compare.values(self.index, one), one)
        body = {
            "name": one.name,
            **{key: value for key, value in values.items() if value is not None or key == "gateway_ip"},
        }
        body |= compare.parts(self.index, one).get(kind.inline, {})
        if kind.owner and (one.kind != "dns_zone"):
            body[kind.owner] = owner
        if broken:
            self.api.delete(kind, broken)
        found = self.api.create(kind, self._secrets(body), project=str(owner))
        self.index.every(one.kind).append(found)
        self.index.chosen[one.key] = found
        return found

    def _write_parts(self, step: Step, found: Found, parts: Mapping[str, Any]) -> None:
        one, kind = step.planned, KINDS[step.planned.kind]
        if self._leaves(one):
            return
        with self._attempt(one):
            for name, value in parts.items():
                after = form(self.index.ids(value, one))
                before = kind.parts[name].read(self.api, found, after)
                if before != after:
                    kind.parts[name].write(self.api, found, before, self._secrets(after))

    def _former(self) -> tuple[list[tuple[str, Found]], list[tuple[str, Found]]]:
        """Return what is ours and no longer in the file, and what has a copy of the mark; dependants first."""
        known, ours, copies = self.index.known(), list[tuple[str, Found]](), list[tuple[str, Found]]()
        for name in filter(self.index.served, reversed(KINDS)):
            kind = KINDS[name]
            with answered(f"{name}s"):
                for found in self.index.every(name):
                    if not kind.mark or id(found) in known or not kind.ours(found, self.plan.site):
                        continue
                    if self.index.copied(name, found):
                        copies.append((name, found))
                    elif self.index.managed(name, found):
                        ours.append((name, found))
        return ours, copies

    def _remove(self, former: list[tuple[str, Found]]) -> list[str]:
        """Delete what is ours and no longer in the file if that is asked for, and return the ids; else tell it."""
        names = self._labels(former)
        if former and DELETE not in self.force:
            self.changes.warnings.append(
                f"{len(names)} are no longer in the site file, and stay: {', '.join(names)}. To delete them: "
                "groundup.cloud.resources -e resources_force=[delete]"
            )
            return []
        spared = {self.index.owner(one) for one in self.plan.resources if one.key in self.left} - {None, ""}
        if kept := [(name, found) for name, found in former if found.get(KINDS[name].owner) in spared]:
            former = [each for each in former if each not in kept]
            self.changes.warnings.append(
                f"{len(kept)} stay, for other resources of their projects are left: {', '.join(self._labels(kept))}"
            )
        holder = self._holder(former)
        for what, (name, found) in zip(self._labels(former), former, strict=True):
            if not self.changes.add(f"delete {what}", name=what, before=dump({"id": found["id"]})):
                continue
            if why := "; ".join(holder.refusals(name, found, dry=False)):  # somebody was faster
                raise GroundupError(why, where=what, why="it would be lost", remedy="ask who owns it; run this again")
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
                        if group["project_id"] == found["id"]:
                            self.api.delete(KINDS["security_group"], group)
        return [str(found["id"]) for _, found in former]

    def _held(self, former: list[tuple[str, Found]]) -> Iterator[str]:
        """Yield why what goes must not be deleted; warn of what a dry run does not look for."""
        holder = self._holder(former)
        for name, found in former:
            yield from holder.refusals(name, found, dry=self.changes.check)
        projects = [str(found["name"]) for name, found in former if name == "project"]
        if self.changes.check and projects and (left := unseen("project", holder.services)):
            self.changes.warnings.append(
                f"only a run without --check looks for {', '.join(left)} of projects that go ({', '.join(projects)}): "
                "it refuses before the first change"
            )

    def _holder(self, former: list[tuple[str, Found]]) -> Holder:
        # Of the catalog, too: a service that has left the site file has not lost what it holds.
        there = self.api.services() if former else ()
        services = {*self.plan.openstack.services, *(SERVICES[one] for one in there if one in SERVICES)}
        return Holder(api=self.api, services=services, going={str(one["id"]) for _, one in former})

    def _labels(self, former: list[tuple[str, Found]]) -> list[str]:
        return [label(name, str(found["name"]), project=self.index.project(name, found)) for name, found in former]

    def _secrets(self, value: Any) -> Any:
        return self.store.resolve(value) if self.store else value
