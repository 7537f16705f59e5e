"""Host aggregates, availability zones and traits of hypervisors, from the plan's location labels.

Each label of a hypervisor (rack, room, its group's own) is an aggregate ``key=value`` with that metadata, and a trait
``CUSTOM_GROUNDUP_<KEY>_<VALUE>``; its zone is an aggregate ``zone=<name>``. Our aggregates are marked by metadata, our
traits by prefix; no others are changed. Hosts unknown to the plan keep their aggregates: ``retire`` removes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from openstack.exceptions import raise_from_response

from ...module_utils._base.changes import Changes
from ...module_utils._base.yaml_text import dump
from ..errors import GroundupError
from ..plan.types import HostPlan, Plan
from . import connection, placement
from .administrator import UnreachedError
from .connection import answered

MARK = "groundup_site"  # metadata key of our aggregates
PREFIX = "CUSTOM_GROUNDUP_"
_ZONE = "availability_zone"
_LONGEST = 255  # of a trait's name
_MOVE = "move its instances to other hosts first (groundup.cloud.drain): Nova changes the zone of no instance"


@dataclass(slots=True, kw_only=True)
class Aggregate:
    """One aggregate of the plan."""

    name: str
    metadata: dict[str, str]
    hosts: set[str] = field(default_factory=set)


def wanted(plan: Plan) -> dict[str, Aggregate]:
    """Return the plan's aggregates by name."""
    found: dict[str, Aggregate] = {}
    for host in plan.hosts.values():
        for name, metadata in _of(host):
            one = found.setdefault(name, Aggregate(name=name, metadata={**metadata, MARK: plan.site}))
            one.hosts.add(host.name)
    return found


def traits(host: HostPlan) -> frozenset[str]:
    """Return the traits of a hypervisor's labels and zone."""
    zone = {"zone": host.zone} if host.zone else {}
    words = (f"{key}_{value}" if value else key for key, value in {**host.place_labels, **zone}.items())
    return frozenset((PREFIX + re.sub("[^A-Z0-9]", "_", word.upper()))[:_LONGEST] for word in words)


def _of(host: HostPlan) -> Iterator[tuple[str, dict[str, str]]]:
    if host.zone:
        yield f"zone={host.zone}", {_ZONE: host.zone}
    for key, value in host.place_labels.items():
        # Nova's metadata allow no slash and no empty value.
        yield f"{key}={value}" if value else key, {key.replace("/", ":"): value or "true"}


def apply(plan: Plan, hosts: Collection[str], changes: Changes) -> None:
    """Converge the site's own cloud. A dry run takes ``hosts`` for joined, and everything for new without a cloud."""
    try:
        _apply(plan, hosts, changes)
    except UnreachedError:
        if not changes.check:
            raise
        foresee(plan, changes)


def verify(plan: Plan, hosts: Collection[str]) -> None:
    """Raise GroundupError with the differences of the site's own cloud from the plan."""
    changes = Changes(check=True)
    _apply(plan, hosts, changes)
    if changes.done:
        raise GroundupError(
            f"hypervisors are not where the plan has them: to do are {'; '.join(changes.done)}",
            where="Nova and Placement", why="instances that ask for a zone, rack or label come to others, or none",
            remedy="run the playbook groundup.cloud.hypervisor",
        )  # fmt: skip


def _apply(plan: Plan, hosts: Collection[str], changes: Changes) -> None:
    with answered("Nova, Placement", remedy="run the playbook groundup.cloud.openstack, tag verify"):
        converge(connection.of_site(plan), plan, changes, presumed=hosts if changes.check else ())


def converge(admin: Any, plan: Plan, changes: Changes, *, presumed: Collection[str] = ()) -> None:
    """Converge aggregates and traits to the plan. ``presumed``: hosts that a dry run takes for joined.

    Raises GroundupError for somebody else's aggregate with a name of the plan.
    """
    providers = {str(one["service_details"]["host"]): str(one["id"]) for one in admin.compute.hypervisors(details=True)}
    known = (providers.keys() | set(presumed)) & plan.hosts.keys()
    _Aggregates(admin, plan, changes, known).converge()
    _traits(admin, plan, changes, providers, known)


def foresee(plan: Plan, changes: Changes) -> None:
    """Record the aggregates that a cloud not deployed yet will get."""
    for one in wanted(plan).values():
        _created(changes, one, one.hosts)


def _created(changes: Changes, one: Aggregate, hosts: Collection[str]) -> bool:
    after = dump({"metadata": one.metadata, "hosts": sorted(hosts)})
    return changes.add(f"create aggregate {one.name}", name=f"aggregate {one.name}", after=after)


@dataclass(slots=True)
class _Aggregates:
    admin: Any
    plan: Plan
    changes: Changes
    known: Collection[str]  # hosts of the plan that Nova has

    def converge(self) -> None:
        goal = wanted(self.plan)
        found = {str(one["name"]): one for one in self.admin.compute.aggregates()}
        for name, one in found.items():
            # One of that name without hosts and metadata is ours, left by a killed run.
            if name in goal and not self._ours(one) and (one["hosts"] or one["metadata"]):
                raise _of_somebody(one, self.plan.site)
        # Leave the old zone before joining the new one: Nova refuses a host in two.
        for name, one in found.items():
            if self._ours(one):
                self._leave(one, goal.get(name))
        for name, wish in goal.items():
            if members := wish.hosts & set(self.known):
                self._join(found.get(name), wish, members)

    def _ours(self, one: Any) -> bool:
        return bool((one["metadata"] or {}).get(MARK) == self.plan.site)

    def _leave(self, one: Any, wish: Aggregate | None) -> None:
        stays = wish.hosts if wish else set()
        hosts = set(one["hosts"] or ())
        gone = sorted(host for host in hosts if host in self.plan.hosts and host not in stays)
        for host in gone:
            if self._member(one["name"], host, before=host):
                with answered(f"host {host}, aggregate {one['name']}", remedy=_MOVE):
                    self.admin.compute.remove_host_from_aggregate(one["id"], host)
        empty = hosts <= set(gone)
        if (
            wish is None
            and empty
            and self.changes.add(
                f"delete aggregate {one['name']}", name=f"aggregate {one['name']}", before=dump(dict(one["metadata"]))
            )
        ):
            self.admin.compute.delete_aggregate(one["id"])

    def _join(self, one: Any | None, wish: Aggregate, members: Collection[str]) -> None:
        compute = self.admin.compute
        there = set((one["hosts"] if one else None) or ())
        before: Mapping[str, str] = (one["metadata"] if one else None) or {}
        other = {key: before.get(key) for key, value in wish.metadata.items() if before.get(key) != value}
        if one is None:
            if not _created(self.changes, wish, members):
                return
            one = compute.create_aggregate(name=wish.name)
        elif other and not self.changes.add(
            f"change metadata of aggregate {wish.name}", name=f"aggregate {wish.name}",
            before=dump(other), after=dump({key: wish.metadata[key] for key in other}),
        ):  # fmt: skip
            other = {}
        if other:
            with answered(f"aggregate {wish.name}", remedy=_MOVE):
                metadata = {key: wish.metadata[key] for key in other}
                raise_from_response(
                    compute.post(f"/os-aggregates/{one['id']}/action", json={"set_metadata": {"metadata": metadata}})
                )
        new = not there and not before
        for host in sorted(set(members) - there):
            # The change that creates an aggregate lists its hosts.
            if (new and not self.changes.check) or self._member(wish.name, host, after=host):
                with answered(f"host {host}, aggregate {wish.name}", remedy=_MOVE):
                    compute.add_host_to_aggregate(one["id"], host)

    def _member(self, name: str, host: str, *, before: str = "", after: str = "") -> bool:
        verb = f"add {host} to" if after else f"remove {host} from"
        return self.changes.add(
            f"{verb} aggregate {name}", name=f"hosts of aggregate {name}", before=before, after=after
        )


def _traits(admin: Any, plan: Plan, changes: Changes, providers: Mapping[str, str], known: Collection[str]) -> None:
    """Give hosts of the plan the traits of their labels, take outdated ones, and delete unused ones of ours."""
    goal = {name: traits(plan.hosts[name]) for name in sorted(known)}
    defined = frozenset(placement.known(admin, PREFIX))
    having = {trait: placement.providers_with(admin, trait) for trait in sorted(defined)}
    for name, wish in goal.items():
        uuid = providers.get(name, "")
        has = {trait for trait, those in having.items() if uuid in those}
        if has == wish:
            continue
        if changes.add(
            f"change traits of {name}",
            name=f"traits of {name}",
            before=dump({"traits": sorted(has)}),
            after=dump({"traits": sorted(wish)}),
        ):
            for trait in sorted(wish - defined):
                placement.define(admin, trait)
            placement.change(admin, uuid, give=wish - has, take=has - wish)
    used = frozenset[str]().union(*goal.values())
    ours = {providers[name] for name in goal if name in providers}
    for trait in sorted(defined - used):
        if having[trait] <= ours and changes.add(f"delete trait {trait}", name=f"trait {trait}", before=trait):
            placement.forget(admin, trait)


def _of_somebody(one: Any, site: str) -> GroundupError:
    return GroundupError(
        f"there is an aggregate {one['name']} that is not the site's",
        where=f"Nova, aggregate {one['id']} with {len(one['hosts'] or ())} hosts",
        why="only aggregates that a run has made are changed, and two cannot have one name",
        remedy=f"rename it, or give it to the site: openstack aggregate set --property {MARK}={site} {one['id']}",
    )
