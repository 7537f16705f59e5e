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

    services: tuple[str, ...] = ()  # of Helm, in order
    batches: tuple[tuple[str, ...], ...] = ()  # hypervisors that change together
    away: tuple[str, ...] = ()  # hypervisors of a former release that do not report
    pinned: tuple[str, ...] = ()  # workloads that have not restarted since the last hypervisor changed
    data: bool = False  # whether Nova's data have the former form

    def lines(self) -> list[str]:
        """Return the steps, one line each."""
        return [
            *(f"{name}: expand its schema, roll its pods, contract" for name in self.services),
            *(f"nova-compute and Neutron's agent of {', '.join(batch)}" for batch in self.batches),
            *([f"restart without the former release's messages: {', '.join(self.pinned)}"] if self.pinned else []),
            *(["migrate Nova's data"] if self.data else []),
        ]

    def lacking(self) -> Iterator[str]:
        """Yield what keeps the step from its end."""
        yield from self.lines()
        if self.away:
            yield f"nova-compute of {', '.join(self.away)} does not report and is of the former release"


def left(plan: Plan, facts: ReleaseFacts) -> Left:
    """Return what is left until the release of ``plan`` runs everywhere."""
    target = plan.openstack.release
    nova = pairs.STEPS[target].nova
    needs = [(one.name, one.needs) for one in plan.openstack.releases]
    computes = [one for one in facts.services if one.binary == COMPUTE and one.host in facts.hypervisors]
    old = [one for one in computes if one.version < nova]
    first = len(old) == len(computes)
    return Left(
        services=tuple(name for name, _ in one_by_one(needs) if facts.running.get(name, frozenset()) - {target}),
        batches=tuple(batches(plan, _hosts(one for one in old if is_up(one)), canary=first)),
        away=tuple(sorted(_hosts(one for one in old if not is_up(one)))),
        pinned=tuple(sorted(name for name, release in facts.since.items() if release != target)),
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


def _hosts(services: Iterator[ReportedService]) -> set[str]:
    return {one.host for one in services}
