"""Findings of the plan: one module per subject, each a generator of findings."""

from __future__ import annotations

from ..layout.context import PlanContext
from ..types import Finding
from . import (
    access,
    addresses,
    availability,
    ceph,
    cluster,
    disks,
    domains,
    links,
    machines,
    netboot,
    packages,
    planes,
    pools,
    quorum,
    servers,
    services,
    storage,
    supply,
    system_disks,
    unsupported,
    versions,
    wiring,
)

SUBJECTS = (
    addresses, servers, links, wiring, planes, machines, netboot, pools, availability, access, packages, quorum,
    domains, storage, ceph, disks, cluster, services, supply, system_disks, versions, unsupported,
)  # fmt: skip
_ORDER = {"error": 0, "warning": 1, "info": 2}


def find(context: PlanContext) -> tuple[Finding, ...]:
    """Return all findings, errors first, then by name: the same site always gives the same list."""
    found = list(context.layout.findings)
    for subject in SUBJECTS:
        found += subject.check(context)
    return tuple(sorted(found, key=lambda one: (_ORDER[one.severity], one.name, one.where, one.what)))
