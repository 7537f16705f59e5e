"""Storage: a production site survives the loss of a disk and of a machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...layers.storage import BACKENDS
from ...services import RECORDS
from ...services.sizes import sizes
from ..form import error, finding, info, warning
from ..layout.context import PlanContext
from ..types import Finding

_QUORUM = 3  # members that survive the loss of one


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about volumes, pools and the size of the storage cluster."""
    written, production = context.site.storage, context.layout.profile.production
    if context.plan.kubernetes.storage_backend == "local" and production:
        yield _local(context)
    if context.plan.kubernetes.storage_backend == "ceph-rbd":
        yield from _images(context)
    if BACKENDS[written.backend].layer:
        yield from _cluster(context)
    ceph = context.plan.ceph  # with the pools that nobody has written
    pools = {purpose: pool.name or purpose for purpose, pool in written.pools.items()}
    pools |= {purpose: pool.name for purpose, pool in ceph.pools.items()} if ceph else {}
    for name, count in Counter(pools.values()).items():
        if count > 1:
            yield finding(
                "one-pool-for-everything",
                "error" if production else "warning",
                *(f"storage.pools.{purpose}" for purpose, pool in pools.items() if pool == name),
            )(
                what=f"{count} purposes share the pool {name}",
                why="quota, copies, caching and keys are a pool's: one purpose that fills it stops all",
                remedy="give each purpose a pool of its own",
            )


def _local(context: PlanContext) -> Finding:
    """Return the finding about volumes that are directories: right for members that copy to each other."""
    plan = context.plan
    members = sizes(plan).members if plan.openstack.services else {}
    single = [name for name, count in members.items() if RECORDS[name].quorum and count < _QUORUM]
    if "glance" in plan.openstack.services and not plan.ceph:
        single.append("glance")  # its images have one volume
    if not single:
        return info("hostpath-in-production", "storage.volumes")(
            what="persistent volumes are directories on one host each",
            why="one is gone with its host; members of Galera and RabbitMQ have them, and the others keep the data",
            remedy="nothing, for these; for volumes of others write storage.volumes: ceph-rbd",
        )
    return error("hostpath-in-production", "storage.volumes", *(f"openstack.replicas.{name}" for name in single))(
        what=f"the only copy of {', '.join(single)} is a directory on one host, in a site of profile {plan.profile}",
        why="it is gone with its host",
        remedy="have three control hosts and storage.backend: native; or write profile: edge",
    )


def _images(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about volumes that are images in Ceph."""
    written, networks = context.site.storage, context.layout.by_purpose("storage")
    if not context.plan.ceph:
        yield error("volumes-without-backend", "storage.volumes", "storage.backend")(
            what="volumes are to be RBD images, and the plan has no Ceph",
            why="every claim would stay pending",
            remedy="write storage.backend and storage hosts, storage.external, or volumes: local",
        )
        return
    yield warning("volumes-not-seen", "storage.volumes")(
        what="the class `general` is ceph-csi's, whose chart was applied to an API server here: no pod of it ever ran",
        why="its images could not be fetched where this was made; without its pods every claim stays pending",
        remedy="try it on a site that may fail, and tell what you saw; or write volumes: local",
    )
    nodes = [host for host in context.plan.hosts.values() if host.node_labels]
    far = [
        host.name
        for host in nodes
        if networks and not any(port.network == networks[0].name and port.address for port in host.interfaces)
    ]
    if far and BACKENDS[written.backend].layer:
        yield error("node-without-storage-network", f"networks.{networks[0].name}", "storage.volumes")(
            what=f"{', '.join(far[:3])}{', ...' if far[3:] else ''}: no address on {networks[0].name}, where Ceph is",
            why="the kernel of a node maps its pods' volumes itself: there they would never be mounted",
            remedy=f"give every node an address on {networks[0].name} (cidr, ranges, racks), or write volumes: local",
        )


def _cluster(context: PlanContext) -> Iterator[Finding]:
    written, production = context.site.storage, context.layout.profile.production
    hosts = context.layout.with_role("storage")
    if 0 < len(hosts) < 3 and production:
        yield error("laptop-ceph", "machines.storage")(
            what=f"Ceph on {len(hosts)} host{'s' if len(hosts) > 1 else ''}, with the profile {context.plan.profile}",
            why="with fewer than three hosts the loss of one stops writes or loses data",
            remedy="write three storage hosts, or profile: edge",
        )
    sizes = {"storage.replicas": written.replicas}
    sizes |= {f"storage.pools.{name}.replicas": pool.replicas for name, pool in written.pools.items() if pool.replicas}
    for key, replicas in sizes.items():
        if replicas < 3 and production:
            yield finding("too-few-replicas", "error" if replicas == 1 else "warning", key)(
                what=f"{replicas} cop{'ies' if replicas > 1 else 'y'} of each object",
                why="one lost disk loses data" if replicas == 1 else "during a repair one more lost disk loses data",
                remedy="write 3",
            )
