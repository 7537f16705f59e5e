"""What can be written and planned, and this version does not build: said before anything waits for it in vain."""

from __future__ import annotations

from collections.abc import Iterator

from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield a finding for each part of the site that no layer carries out yet."""
    site, plan = context.site, context.plan
    if site.edge.kind == "gateway-api":
        yield Finding(
            name="not-in-this-version",
            severity="error",
            where=("edge.kind",),
            what="the public names are to be served by a Gateway in the cluster, and this version makes none",
            why="nothing would listen on port 443: no release could verify",
            remedy="write edge.kind: haproxy, or leave it out",
        )
    if site.storage.backend in ("cephadm", "rook"):
        yield _warning(
            ("storage.backend",),
            f"Ceph by {site.storage.backend}",
            "storage is judged and planned only: the storage class `general` must come from elsewhere",
            "bring your own class of that name and write storage.backend: external, or leave it for a later version",
        )
    bare = [host.name for host in plan.hosts.values() if host.provisioner == "ironic"]
    if bare:
        yield _warning(
            ("machines",),
            f"{len(bare)} machines from power-off by Ironic, {bare[0]} first",
            "their layer passes over them: they must run and let the controller in before the next one",
            "install them by other means and write provisioner: existing, or leave it for a later version",
        )
    for network in context.layout.by_purpose("cluster"):
        yield _warning(
            (f"networks.{network.name}",),
            "a plane of its own for pods",
            f"pods' packets cross {context.layout.underlay.name}, and their MTU is that plane's",
            "leave it out, or leave it for a later version",
        )
    if "ovn" in site.model_fields_set:
        yield _warning(
            ("ovn",),
            "the tenants' network",
            "it is judged and planned, and no release reads it: Neutron comes later",
            "leave it for a later version, or leave it out",
        )


def _warning(where: tuple[str, ...], what: str, why: str, remedy: str) -> Finding:
    return Finding(
        name="not-in-this-version",
        severity="warning",
        where=where,
        what=f"this version does not build it: {what}",
        why=why,
        remedy=remedy,
    )
