"""Quorums: odd, and large enough to lose one (H1, H3, H4)."""

from __future__ import annotations

from collections.abc import Iterator

from ...services.sizes import sizes
from ..layout.context import Layout, PlanContext
from ..types import Finding

_SMALLEST = 3  # the least that survives the loss of one


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the members of etcd, Galera, RabbitMQ and the Ceph monitors."""
    size = sizes(context.plan)
    members = {"etcd": (context.plan.kubernetes.etcd_members, "machines.control")}
    if context.plan.openstack.services:
        members["Galera"] = (size.mariadb, "openstack.replicas.mariadb")
        members["RabbitMQ"] = (size.rabbitmq, "openstack.replicas.rabbitmq")
    if context.site.storage.backend in ("cephadm", "rook"):
        members["Ceph MON"] = (monitors(context.layout), "storage.monitors")
    nodes = max(
        1, sum(host.node_labels.get("openstack-control-plane") == "enabled" for host in context.plan.hosts.values())
    )
    room = {
        "etcd": context.plan.kubernetes.etcd_members,
        "Galera": nodes,
        "RabbitMQ": nodes,
        "Ceph MON": len(context.layout.with_role("storage")) or 1,
    }
    production = context.layout.profile.production
    for name, (count, key) in members.items():
        if count and count % 2 == 0:
            yield Finding(
                name="even-quorum",
                severity="error" if production or count > 2 else "warning",
                where=(key,),
                what=f"{name} has {count} members",
                why=f"{count} members survive no more losses than {count - 1} would, and a split in halves stops both",
                remedy=f"write {count - 1} or {count + 1}",
            )
        elif 0 < count < _SMALLEST and production:
            yield Finding(
                name="small-quorum",
                severity="error",
                where=(key,),
                what=f"{name} has {count} member{'s' if count > 1 else ''}",
                why="the loss of one machine stops the cloud",
                remedy="write 3" if key != "machines.control" else "write three control hosts",
            )
        if count > room[name]:
            yield Finding(
                name="quorum-larger-than-hosts",
                severity="error",
                where=(key, "machines"),
                what=f"{name} is to have {count} members on {room[name]} machine{'s' if room[name] > 1 else ''}",
                why="members on one machine fail together: the quorum is a number only",
                remedy=f"write at most {room[name]}, or more machines",
            )
    if context.plan.openstack.services and size.memcached < 2 and production:
        yield Finding(
            name="single-memcached",
            severity="warning",
            where=("openstack.replicas.memcached",),
            what="Memcached has one member",
            why="its loss makes every token check ask the database at once",
            remedy="write 2 or more",
        )


def monitors(layout: Layout) -> int:
    """Return how many Ceph monitors the site is to have: as written, else an odd number of at most three."""
    return layout.site.storage.monitors or (3 if len(layout.with_role("storage")) >= 3 else 1)
