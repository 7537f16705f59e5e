"""What is left of a step of OpenStack's release, and in which order: by what runs, never by a counter. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ...module_utils._base.text import few
from ..graph import one_by_one
from ..plan.types import Plan
from ..rollout.gate import pairs
from .facts import ReleaseFacts, ReportedService
from .judge import COMPUTE, DOWN, GONE, GONE_RECORDS, former, is_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a run would do."""

    services: tuple[str, ...] = ()  # releases of Helm, in order
    retired: tuple[str, ...] = ()  # former ones that left the site file: no run changes them
    unfinished: tuple[str, ...] = ()  # of them, new ones whose rollout was interrupted
    untold: tuple[str, ...] = ()  # services of which nobody can say whether they have the release
    lost: tuple[str, ...] = ()  # hypervisors of an open step that do not report: each changes alone, before all others
    batches: tuple[tuple[str, ...], ...] = ()  # hypervisors that change together, the lost ones first
    away: tuple[str, ...] = ()  # hypervisors that the step waits for at its end
    aside: tuple[str, ...] = ()  # of them, those that answer and do not report: set aside, as was accepted
    unknown: tuple[str, ...] = ()  # releases of Helm without which the rest cannot be said
    pinned: tuple[str, ...] = ()  # workloads that this step has not restarted
    data: bool = False  # whether Nova's data have the former form

    @property
    def versions(self) -> Left:
        """Return what keeps services and hypervisors from having one release."""
        return Left(
            services=self.services, retired=self.retired, unfinished=self.unfinished, untold=self.untold,
            lost=self.lost, batches=self.batches, away=self.away,
        )  # fmt: skip

    @property
    def former(self) -> bool:
        """Return whether something of a former release runs: a step is due, or goes on."""
        return bool(self.services or self.batches or self.away)

    @property
    def settled(self) -> bool:
        """Return whether services are done: from then on a hypervisor that does not report is one that is broken."""
        return not (self.services or self.unfinished or self.unknown)

    def lines(self) -> list[str]:
        """Return the steps, one line each, and what keeps the last of them from its end."""
        return [
            *(
                f"{name}: roll it out first, and ask it again; what it says decides what follows"
                for name in self.unknown
            ),
            *(f"{name}: expand its schema, roll its pods, contract" for name in self.services),
            *(f"{name}: is not in openstack.services, and keeps the former release" for name in self.retired),
            *(f"{name}: go on with its rollout, which was interrupted" for name in self.unfinished),
            *(f"{name}: the tags of its images do not tell their release" for name in self.untold),
            *(f"nova-compute and Neutron's agent of {self._told(batch)}" for batch in self.batches),
            *(f"{name}: {self._waits(name)}; the end of the step waits for it" for name in self.away),
            *([f"restart without the former release's messages: {', '.join(self.pinned)}"] if self.pinned else []),
            *(["migrate Nova's data"] if self.data else []),
        ]

    def _waits(self, name: str) -> str:
        return "does not report, and is set aside" if name in self.aside else "does not answer"

    def _told(self, batch: tuple[str, ...]) -> str:
        lost = ", which does not report: first, and alone" if {*batch} & {*self.lost} else ""
        return f"{', '.join(batch)}{lost}"


def left(
    plan: Plan, facts: ReleaseFacts, *, absent: Collection[str] = (), begun: str = "", accepted: Collection[str] = ()
) -> Left:
    """Return what is left until the release of ``plan`` runs everywhere.

    ``absent``: hosts that do not answer. ``begun``: of the step that is open, which may have lost hypervisors.
    ``accepted``: codes; by them, hypervisors that do not report are set aside.
    """
    target = plan.openstack.release
    nova = pairs.STEPS[target].nova
    order = [name for name, _ in one_by_one((one.name, one.needs) for one in plan.openstack.releases)]
    old_services = former(facts.running, target).keys()
    services = tuple(name for name in order if name in old_services)
    unfinished = tuple(name for name in order if name in facts.unfinished - old_services)
    # Before that, no hypervisor was; and nothing reports without its queue.
    touched = bool(begun) and not (services or unfinished or facts.unknown)
    computes = [one for one in facts.services if one.binary == COMPUTE and one.host in facts.hypervisors]
    silent = {one.host for one in computes if not is_up(one)}
    old = {one.host for one in computes if one.version < nova}
    spare = {one.host for one in computes if one.host in silent - {*absent} and _accepted(one, accepted)}
    lost = tuple(name for name in plan.hosts if touched and name in silent - {*absent} - spare)
    away = ((old | silent if touched else old) & (silent | {*absent})) - {*lost}
    proven = {one.host for one in computes} - old - silent
    canary = not lost and (touched or not proven)  # the last batch of an open step may have stayed as it was
    return Left(
        services=services,
        retired=tuple(sorted(former(facts.retired, target))),
        unfinished=unfinished,
        untold=tuple(sorted(facts.untold)),
        lost=lost,
        batches=(
            *((name,) for name in lost),
            *batches(plan, old - away - {*lost}, canary=canary, aside=away & spare),
        ),
        away=tuple(sorted(away)),
        aside=tuple(sorted(away & spare)),
        unknown=tuple(sorted(facts.unknown)),
        pinned=tuple(sorted(name for name, mark in facts.since.items() if not begun or mark != begun)),
        data=facts.scheduled and "nova" in facts.running and facts.data != str(nova),
    )


def _accepted(one: ReportedService, codes: Collection[str]) -> bool:
    return DOWN["code"] in codes or (one.silent > GONE and GONE_RECORDS["code"] in codes)


def crowded(plan: Plan, aside: Collection[str]) -> list[str]:
    """Return the groups of machines of which more hypervisors are set aside than may be missing, at least one."""
    groups: dict[str, list[str]] = {}
    for name in sorted(aside):
        groups.setdefault(plan.hosts[name].group, []).append(name)
    return [
        f"{few(names)} of {group} do not report, and at most {most} may be missing (machines.{group}.max_unavailable)"
        for group, names in groups.items()
        if len(names) > (most := max(1, plan.max_unavailable.get(group, 0)))
    ]


def batches(
    plan: Plan, hosts: Collection[str], *, canary: bool, aside: Collection[str] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield which of ``hosts`` change at the same time: with ``canary`` one alone, then zone after zone.

    Within a zone as many of a group of machines as may be missing beside those ``aside``, at least one.
    """
    missing = Counter(plan.hosts[name].group for name in aside)
    groups: dict[tuple[str, str], list[str]] = {}
    for name, host in plan.hosts.items():
        if name in hosts:
            groups.setdefault((host.zone or "", host.group), []).append(name)
    for zone, group in sorted(groups):
        names, size = groups[zone, group], max(1, plan.max_unavailable.get(group, 0) - missing[group])
        if canary:
            yield (names.pop(0),)
            canary = False
        yield from (tuple(names[first : first + size]) for first in range(0, len(names), size))


def late(hosts: Collection[str], services: Collection[ReportedService], version: int) -> dict[str, str]:
    """Return those of ``hosts`` whose nova-compute does not report as ``version``, each with what it does."""
    seen = {one.host: one for one in services if one.binary == COMPUTE}
    old = {host: "nova-compute reports as former" for host in hosts if host in seen and seen[host].version < version}
    return old | {host: "nova-compute does not report" for host in hosts if host not in seen or not is_up(seen[host])}
