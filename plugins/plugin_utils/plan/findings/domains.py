"""Failure domains: enough racks or hosts for copies that must not fail together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...layers.storage import BACKENDS
from ...services import RECORDS
from ..form import error, finding
from ..layout.context import PlanContext
from ..types import Finding, HostPlan


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about copies that share a failure domain."""
    yield from _storage(context)
    yield from _control(context)


def _storage(context: PlanContext) -> Iterator[Finding]:
    written = context.site.storage
    hosts = context.layout.with_role("storage")
    if not BACKENDS[written.backend].layer or not hosts:
        return
    common = written.failure_domain or context.layout.profile.failure_domain
    wanted = {"storage.replicas": (written.replicas, common)}
    for name, pool in written.pools.items():
        if pool.replicas or pool.failure_domain:
            wanted[f"storage.pools.{name}"] = (pool.replicas or written.replicas, pool.failure_domain or common)
    for key, (replicas, domain) in wanted.items():
        have = len(domains_of(context, hosts, domain))
        if domain == "osd" and context.layout.profile.production:
            yield error("copies-on-one-host", key, "storage.failure_domain")(
                what=f"copies may lie on one host: no two in one OSD, in a site of profile {context.site.profile}",
                why="the loss of one host stops writes or loses data",
                remedy="write host, rack or room",
            )
        if replicas > have:
            yield error("replicas-do-not-fit", key, "machines")(
                what=f"{replicas} copies, no two in one {domain}, and storage hosts in {_counted(have, domain)}",
                why="Ceph would place too few copies and never report its data clean",
                remedy=f"spread storage hosts over {replicas} {domain}s, or write fewer replicas or a smaller domain",
            )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


def domains_of(
    context: PlanContext, hosts: Iterable[HostPlan], domain: str, *, device_class: str | None = None
) -> set[tuple[str, str]]:
    """Return the domains where ``hosts`` have OSDs of ``device_class``; without a class, where they stand."""
    osds = context.plan.ceph.osds if context.plan.ceph else {}
    found: set[tuple[str, str]] = set()
    for host in hosts:
        own = [one for one in osds.get(host.hardware, ()) if device_class in (None, one.device_class)]
        if domain == "osd" and osds:
            found |= {(host.name, one.name) for one in own}
        elif own or not device_class:
            found.add((domain, domain_of(context, host, domain)))
    return found


def domain_of(context: PlanContext, host: HostPlan, domain: str) -> str:
    """Return the name of the ``domain`` that contains ``host``."""
    if domain in ("osd", "host"):
        return host.name
    rack = context.site.racks.get(host.rack)
    return (rack.room if rack and rack.room else "none") if domain == "room" else host.rack


def _control(context: PlanContext) -> Iterator[Finding]:
    control = context.layout.with_role("control")
    racks = {host.rack for host in control}
    if len(control) >= 3 and len(racks) < 3 and context.layout.profile.production:
        quorums = ", ".join(("etcd", *(record.quorum for record in RECORDS.values() if record.quorum)))
        severe = len(racks) == 1 and context.layout.profile.large
        yield finding("quorum-in-one-failure-domain", "error" if severe else "warning", "machines.control")(
            what=f"{len(control)} control hosts stand in {_counted(len(racks), 'rack')}: {', '.join(sorted(racks))}",
            why=f"one power feed or switch holds the majority of {quorums}",
            remedy="spread them over three racks: racks: [a, b, c]",
        )
