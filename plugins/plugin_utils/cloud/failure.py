"""Dead hypervisors: who says that one is dead, and whether the site's policy may evacuate it. Nothing is changed here.

One that is only out of reach still runs its instances: any doubt leaves it to the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from ...module_utils._base.text import few
from ..errors import GroundupError
from ..plan.types import Plan
from . import compute_host, evacuate
from .compute_host import COMPUTE, EVACUATE, ComputeHost
from .usage.accounts import moment

BEAT = 60.0  # seconds after which Nova takes a silent nova-compute for down
Word = Literal["silent", "answers", "unknown"]
Ceph = Callable[..., dict[str, Any]]  # (step, name=..., **options): a step of module ceph, which raises GroundupError


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """One that should hear of a hypervisor, and what it says."""

    name: str
    word: Word
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A hypervisor that Nova does not hear."""

    host: ComputeHost
    still: float  # seconds since its last heartbeat
    since: str  # when that was
    witnesses: tuple[Witness, ...]
    leaving: tuple[Any, ...]  # instances whose disks outlive it
    sure: bool = True  # whether Ceph told which disks it has

    @property
    def staying(self) -> tuple[Any, ...]:
        """Return the instances whose disks are on it, as far as is known."""
        return tuple(one for one in self.host.servers if one not in self.leaving)

    @property
    def silent(self) -> bool:
        """Whether nobody hears it."""
        return all(one.word == "silent" for one in self.witnesses)

    @property
    def begun(self) -> bool:
        """Whether it was evacuated, or an evacuation of it was killed."""
        return self.host.evacuated and self.host.disabled == EVACUATE

    @property
    def done(self) -> bool:
        """Whether all that could leave it have left."""
        return self.begun and not self.leaving

    @property
    def idle(self) -> bool:
        """Whether somebody took it out of service, empty: it may be off."""
        return self.host.disabled is not None and not self.host.servers and not self.begun


def look(
    plan: Plan, cloud: Any, contacts: Mapping[str, Witness], ceph: Ceph, *, now: datetime
) -> tuple[list[Suspect], dict[str, list[str]]]:
    """Return the hypervisors that Nova does not hear, and what speaks against evacuating each.

    ``contacts``: what ssh says, by host. ``ceph``: asks the site's own. Raises what the cloud says.
    """
    found = _suspects(plan, cloud, contacts, now=now)
    if plan.ceph and "vms" in plan.ceph.pools and any(one.staying for one in found):
        found = list(_sorted(plan, found, ceph))
    return decide(plan, found, contacts, ceph)


def _sorted(plan: Plan, found: Sequence[Suspect], ceph: Ceph) -> Iterator[Suspect]:
    """Yield ``found`` by Ceph's word on the disks that it has."""
    kept: evacuate.Kept = evacuate.of_volume
    sure = fences(plan)
    try:
        if plan.ceph and sure:
            kept = evacuate.kept_by(ceph("images", name=found[0].host.name, pool=plan.ceph.pools["vms"].name)["images"])
    except GroundupError:
        sure = False
    for one in found:
        yield replace(one, leaving=tuple(filter(kept, one.host.servers)), sure=sure)


def fences(plan: Plan) -> bool:
    """Say whether the site's own Ceph can keep a host from its disks."""
    return bool(plan.ceph and plan.ceph.backend == "native")


def _suspects(plan: Plan, cloud: Any, contacts: Mapping[str, Witness], *, now: datetime) -> list[Suspect]:
    services = [one for one in cloud.compute.services(binary=COMPUTE) if one["binary"] == COMPUTE]
    agents = [one for one in cloud.network.agents() if "OVN" in str(one["agent_type"])]
    unasked = Witness(name="ssh", word="unknown", said="it was not asked")
    ours = [name for name, host in plan.hosts.items() if "hypervisor" in host.roles]
    return [
        _suspect(compute_host.look(cloud.compute, name), services, contacts.get(name, unasked), agents, now)
        for name in ours
        if any(one["host"] == name and one["state"] != "up" for one in services)
    ]


def _suspect(host: ComputeHost, services: Sequence[Any], ssh: Witness, agents: Sequence[Any], now: datetime) -> Suspect:
    since = str((host.service or {}).get("updated_at") or "")
    still = _still(host, services, now) if since else -1.0
    if host.up:
        own = Witness(name=COMPUTE, word="answers", said="Nova hears it")
    elif still < BEAT:
        own = Witness(name=COMPUTE, word="unknown", said=f"its record changed at {since or 'no known time'}")
    else:
        own = Witness(name=COMPUTE, word="silent", said=f"for {still:.0f} s")
    witnesses = (own, ssh, _chassis(host.name, agents))
    leaving = tuple(filter(evacuate.of_volume, host.servers))
    return Suspect(host=host, still=still, since=since, witnesses=witnesses, leaving=leaving)


def _still(host: ComputeHost, services: Sequence[Any], now: datetime) -> float:
    """Return the seconds from its last heartbeat to the newest of others: clocks differ, and all may be late."""
    others = [moment(one["updated_at"]) for one in services if one["host"] != host.name and one["updated_at"]]
    return (min(now, max(others, default=now)) - moment((host.service or {})["updated_at"])).total_seconds()


def _chassis(name: str, agents: Sequence[Any]) -> Witness:
    own = [one for one in agents if one["host"] == name]
    alive = [str(one["agent_type"]) for one in own if one["is_alive"]]
    if not own:
        return Witness(name="OVN", word="unknown", said="it has no chassis of it")
    return Witness(name="OVN", word="answers" if alive else "silent", said=few(alive) or "no agent of it is alive")


def decide(
    plan: Plan, found: Sequence[Suspect], contacts: Mapping[str, Witness], ceph: Ceph
) -> tuple[list[Suspect], dict[str, list[str]]]:
    """Return the suspects but idle ones, and by name what speaks against evacuating each; one at most has nothing.

    Ceph is asked last who has its disks open, and of that one alone.
    """
    told, against = list[Suspect](), dict[str, list[str]]()
    gone = {
        one.host.name for one in found if one.idle
    }  # an evacuated one speaks against the next, until it is dealt with
    lost = {one.host.name for one in found} | {name for name, one in contacts.items() if one.word == "silent"}
    for suspect in found:
        one, name = suspect, suspect.host.name
        why = list(doubts(plan, one, sorted(lost - gone - {name})))
        if not why:
            one = replace(one, witnesses=(*one.witnesses, _watched(plan, one, ceph)))
            why = list(_heard(one))
        if not one.idle:
            told.append(one)
            against[name] = why
    return told, against


def doubts(plan: Plan, one: Suspect, lost: Collection[str]) -> Iterator[str]:
    """Yield what speaks against evacuating a hypervisor. ``lost``: other machines that are silent, too."""
    policy, host, name = plan.openstack.hypervisor_failure, one.host, one.host.name
    if one.done:
        yield "what could leave it has left"
        return
    if policy is None or policy.action != "evacuate":
        yield "the site's policy is to tell"
        return
    if lost:
        yield f"{few(lost)} cannot be reached either: a rack or a network is likelier than two deaths"
    yield from _heard(one)
    if not one.begun:
        if one.still < policy.after:
            yield f"it was heard {max(one.still, 0):.0f} s ago: less than {policy.after}"
        if host.evacuated or host.disabled is not None:
            yield f"its {COMPUTE} is disabled ({host.disabled or 'without a reason'}): somebody is at work there"
    if more := sorted({*plan.hosts[name].roles} - {"hypervisor"}):
        yield f"it is {few(more)}, too, which the fence would cut from Ceph"
    if not one.leaving:
        yield "no instance on it has a disk that outlives it" if one.staying else "no instance is on it"
        return
    leaves = replace(host, servers=one.leaving)
    yield from (reason.text for reason in evacuate.reasons(leaves, kept=lambda _: True, fences=fences(plan)))


def _heard(one: Suspect) -> Iterator[str]:
    for witness in one.witnesses:
        if witness.word != "silent":
            verb = "hears it" if witness.word == "answers" else "does not know"
            yield f"{witness.name} {verb}: {witness.said}"


def _watched(plan: Plan, one: Suspect, ceph: Ceph) -> Witness:
    """Return what Ceph says: a guest that runs, there or elsewhere, has its disks open, whatever networks say."""
    pools = plan.ceph.pools if plan.ceph else {}
    own = {str(each["id"]): _images(each) for each in one.leaving if evacuate.way_of(each) != "wait"}
    asked = sorted({image for images in own.values() for image in images})
    disks = {pools[name].name: asked for name in ("vms", "volumes") if name in pools}
    try:
        clients: dict[str, list[str]] = ceph("watchers", name=one.host.name, disks=disks)["watchers"]
    except GroundupError as error:
        return Witness(name="Ceph", word="unknown", said=error.what)
    if unseen := [name for name, images in own.items() if not images & clients.keys()]:
        return Witness(name="Ceph", word="unknown", said=f"it has no disk of {few(unseen)}")
    if used := [f"{image} at {few(at)}" for image, at in clients.items() if at]:
        return Witness(name="Ceph", word="answers", said=f"open are {few(used)}")
    return Witness(name="Ceph", word="silent", said="no disk of an instance is open")


def _images(server: Any) -> set[str]:
    volumes = {f"volume-{one['id']}" for one in server["attached_volumes"] or ()}
    return volumes if evacuate.of_volume(server) else {f"{server['id']}_disk", *volumes}
