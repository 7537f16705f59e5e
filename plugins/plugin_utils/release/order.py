"""What is left of a step of OpenStack's release, and in which order: by what runs, never by a counter. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..graph import one_by_one
from ..plan.types import Plan
from ..rollout.gate import pairs
from .facts import ReleaseFacts, ReportedService
from .judge import COMPUTE, is_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a run would do."""

    services: tuple[str, ...] = ()  # releases of Helm, in order
    unfinished: tuple[str, ...] = ()  # of them, new ones whose rollout was interrupted
    lost: tuple[str, ...] = ()  # hypervisors of an open step that do not report: each changes alone, before all others
    batches: tuple[tuple[str, ...], ...] = ()  # hypervisors that change together, the lost ones first
    away: tuple[str, ...] = ()  # hypervisors that wait for the step, and do not answer
    pinned: tuple[str, ...] = ()  # workloads that this step has not restarted
    data: bool = False  # whether Nova's data have the former form

    @property
    def versions(self) -> Left:
        """Return what keeps services and hypervisors from having one release."""
        return Left(
            services=self.services, unfinished=self.unfinished, lost=self.lost, batches=self.batches, away=self.away
        )

    @property
    def former(self) -> bool:
        """Return whether something of a former release runs: a step is due, or goes on."""
        return bool(self.services or self.batches or self.away)

    def lines(self) -> list[str]:
        """Return the steps, one line each, and what keeps the last of them from its end."""
        return [
            *(f"{name}: expand its schema, roll its pods, contract" for name in self.services),
            *(f"{name}: go on with its rollout, which was interrupted" for name in self.unfinished),
            *(f"nova-compute and Neutron's agent of {self._told(batch)}" for batch in self.batches),
            *(f"{name}: does not answer; the end of the step waits for it" for name in self.away),
            *([f"restart without the former release's messages: {', '.join(self.pinned)}"] if self.pinned else []),
            *(["migrate Nova's data"] if self.data else []),
        ]

    def _told(self, batch: tuple[str, ...]) -> str:
        lost = ", which does not report: first, and alone" if {*batch} & {*self.lost} else ""
        return f"{', '.join(batch)}{lost}"


def left(plan: Plan, facts: ReleaseFacts, *, absent: Collection[str] = (), begun: str = "") -> Left:
    """Return what is left until the release of ``plan`` runs everywhere.

    ``absent``: hosts that do not answer. ``begun``: of the step that is open, which may have lost hypervisors.
    """
    target = plan.openstack.release
    nova = pairs.STEPS[target].nova
    order = [name for name, _ in one_by_one((one.name, one.needs) for one in plan.openstack.releases)]
    former = {name for name, found in facts.running.items() if found - {target}}
    services = tuple(name for name in order if name in former)
    unfinished = tuple(name for name in order if name in facts.unfinished - former)
    touched = bool(begun) and not services and not unfinished  # before that, no hypervisor was
    computes = [one for one in facts.services if one.binary == COMPUTE and one.host in facts.hypervisors]
    silent = {one.host for one in computes if not is_up(one)}
    old = {one.host for one in computes if one.version < nova}
    lost = tuple(name for name in plan.hosts if touched and name in silent - {*absent})
    away = ((old | silent if touched else old) & (silent | {*absent})) - {*lost}
    proven = {one.host for one in computes} - old - silent
    canary = not lost and (touched or not proven)  # the last batch of an open step may have stayed as it was
    return Left(
        services=services,
        unfinished=unfinished,
        lost=lost,
        batches=(*((name,) for name in lost), *batches(plan, old - away - {*lost}, canary=canary)),
        away=tuple(sorted(away)),
        pinned=tuple(sorted(name for name, mark in facts.since.items() if not begun or mark != begun)),
        data=facts.scheduled and "nova" in facts.running and facts.data != str(nova),
    )


def batches(plan: Plan, hosts: Collection[str], *, canary: bool) -> Iterator[tuple[str, ...]]:
    """Yield which of ``hosts`` change at the same time: with ``canary`` one alone, then zone after zone.

    Within a zone as many of a group of machines as may be missing, at least one.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for name, host in plan.hosts.items():
        if name in hosts:
            groups.setdefault((host.zone or "", host.group), []).append(name)
    for zone, group in sorted(groups):
        names, size = groups[zone, group], max(1, plan.max_unavailable.get(group, 0))
        if canary:
            yield (names.pop(0),)
            canary = False
        yield from (tuple(names[first : first + size]) for first in range(0, len(names), size))


def late(hosts: Collection[str], services: Collection[ReportedService], version: int) -> list[str]:
    """Return what is missing until nova-compute of ``hosts`` reports as ``version``."""
    seen = {one.host: one for one in services if one.binary == COMPUTE}
    silent = (f"{host} does not report" for host in hosts if host not in seen or not is_up(seen[host]))
    old = (f"{host} reports as former" for host in hosts if host in seen and seen[host].version < version)
    return [*silent, *old]
