"""Storage: a production site survives the loss of a disk and of a machine (C1, C6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...layers.storage import BACKENDS
from ..form import error, finding
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about volumes, pools and the size of the storage cluster."""
    written, production = context.site.storage, context.layout.profile.production
    if context.plan.kubernetes.storage_backend == "local" and production:
        yield error("hostpath-in-production", "storage.volumes", "profile")(
            what="persistent volumes are directories on one host, in a site of profile region",
            why="a volume is gone with its host, and a test on such volumes proves nothing about others (C6)",
            remedy="write storage.backend: cephadm, rook or external; or profile: edge",
        )
    if context.plan.kubernetes.storage_backend == "ceph-rbd" and written.backend == "none":
        yield error("volumes-without-backend", "storage.volumes", "storage.backend")(
            what="volumes are to be RBD images, and there is no Ceph",
            why="every claim would stay pending",
            remedy="write storage.backend, or volumes: local",
        )
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
                why="quota, copies, caching and keys are a pool's: one purpose that fills it stops all (C1)",
                remedy="give each purpose a pool of its own",
            )


def _cluster(context: PlanContext) -> Iterator[Finding]:
    written, production = context.site.storage, context.layout.profile.production
    hosts = context.layout.with_role("storage")
    if 0 < len(hosts) < 3 and production:
        yield error("laptop-ceph", "machines.storage")(
            what=f"Ceph on {len(hosts)} host{'s' if len(hosts) > 1 else ''}, in a site of profile region",
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
