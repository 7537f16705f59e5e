"""Users that are not the cloud's own: directories are asked, providers are made, groups get their roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...module_utils._base.changes import Changes
from ..errors import GroundupError
from . import federation, grants
from .keystone import Keystone

if TYPE_CHECKING:
    from ..plan.part_types import RolePlan
    from ..plan.types import Plan


def wanted(plan: Plan) -> dict[str, tuple[RolePlan, ...]]:
    """Return the roles of groups, by the domain that the groups are in."""
    found = {name: one.roles for name, one in plan.identity.domains.items()}
    for one in plan.identity.providers:
        found[one.domain] = tuple(dict.fromkeys((*found.get(one.domain, ()), *one.roles)))
    for domain, roles in plan.identity.roles.items():
        found[domain] = tuple(dict.fromkeys((*found.get(domain, ()), *roles)))
    return found


def coming(plan: Plan) -> list[str]:
    """Return what module `resources` makes before, as it predicts it."""
    kinds = ("domain", "role", "project", "group")
    every = [one for one in plan.resources if one.kind in kinds]
    return [f"create {one.kind} {one.name}" + (f" of domain {one.domain}" if one.domain else "") for one in every]


def foresee(plan: Plan, changes: Changes) -> None:
    """Record what a cloud not deployed yet will get."""
    federation.foresee(plan, changes)
    grants.foresee(wanted(plan), changes)


def converge(keystone: Keystone, plan: Plan, changes: Changes, faults: Mapping[str, GroundupError]) -> None:
    """Make Keystone's objects and roles as planned. ``faults``: of directories, whose roles stay as they are.

    Raises GroundupError after all else is done: one directory that is down keeps nobody else from a role, or in one.
    """
    roles = wanted(plan)
    providers = federation.Federation(keystone=keystone, plan=plan, changes=changes)
    groups = grants.Grants(keystone=keystone, changes=changes, coming=coming(plan) if changes.check else ())
    providers.check()
    groups.check(roles)
    providers.converge()
    groups.converge(roles, silent=faults)
    providers.remove_former()
    if every := [*faults.values(), *groups.faults]:
        first, *more = every
        also = "".join(f"; {fault.what}" for fault in more)
        raise GroundupError(first.what + also, where=first.where, why=first.why, remedy=first.remedy)
