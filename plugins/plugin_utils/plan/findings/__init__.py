"""Findings of the plan: one module per subject, each a generator of findings."""

from __future__ import annotations

from ..layout.context import PlanContext
from ..types import Finding
from . import (
    access,
    addresses,
    authorities,
    availability,
    backups,
    ceph,
    certificates,
    cluster,
    directories,
    disks,
    domains,
    extra_releases,
    failure,
    grants,
    identity_providers,
    links,
    logins,
    machines,
    monitoring,
    netboot,
    packages,
    planes,
    pools,
    proxy,
    public,
    quorum,
    resources,
    servers,
    services,
    signatures,
    sriov,
    storage,
    supply,
    system_disks,
    unsupported,
    versions,
    wiring,
)
from .order import ordered

SUBJECTS = (
    addresses, servers, links, wiring, sriov, planes, machines, netboot, pools, public, availability, access, packages,
    quorum, domains, storage, ceph, disks, cluster, services, extra_releases, directories, identity_providers,
    grants, resources, signatures, logins, certificates, authorities, supply, proxy, system_disks, versions, backups,
    monitoring, failure, unsupported,
)  # fmt: skip


def find(context: PlanContext) -> tuple[Finding, ...]:
    """Return all findings, as `order.ordered` puts them."""
    found = list(context.layout.findings)
    for subject in SUBJECTS:
        found += subject.check(context)
    return ordered(found, context.plan.hosts)
