"""Quorums: odd, and large enough to lose one member."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.roles import CONTROL_LABEL
from ...layers.storage import BACKENDS
from ...services import RECORDS
from ...services.sizes import sizes
from ..form import error, finding
from ..layout.context import PlanContext
from ..platform.ceph import monitors
from ..types import Finding

_SMALLEST = 3  # smallest quorum that survives the loss of one member


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the members of etcd, of services with a quorum and of the Ceph monitors."""
    plan = context.plan
    members = {"etcd": (plan.kubernetes.etcd_members, "machines.control", plan.kubernetes.etcd_members)}
    nodes = max(1, sum(host.node_labels.get(CONTROL_LABEL) == "enabled" for host in plan.hosts.values()))
    for name, count in sizes(plan).members.items() if plan.openstack.services else ():
        if quorum := RECORDS[name].quorum:
            members[quorum] = (count, f"openstack.replicas.{name}", nodes)
    if BACKENDS[context.site.storage.backend].layer:
        members["Ceph MON"] = (
            monitors(context.layout), "storage.monitors", len(context.layout.with_role("storage")) or 1,
        )  # fmt: skip
    production = context.layout.profile.production
    for name, (count, key, room) in members.items():
        if count and count % 2 == 0:
            yield finding("even-quorum", "error" if production or count > 2 else "warning", key)(
                what=f"{name} has {count} members",
                why=f"{count} members survive no more losses than {count - 1} would, and a split in halves stops both",
                remedy=f"write {count - 1} or {count + 1}",
            )
        elif 0 < count < _SMALLEST and production:
            yield error("small-quorum", key)(
                what=f"{name} has {count} member{'s' if count > 1 else ''}",
                why="the loss of one machine stops the cloud",
                remedy="write 3" if key != "machines.control" else "write three control hosts",
            )
        if count > room:
            yield error("quorum-larger-than-hosts", key, "machines")(
                what=f"{name} is to have {count} members on {room} machine{'s' if room > 1 else ''}",
                why="members on one machine fail together: the quorum is a number only",
                remedy=f"write at most {room}, or more machines",
            )
