"""A Ceph of the site's own: devices, copies, and who can run it."""

from __future__ import annotations

from collections.abc import Iterator

from ...layers.storage import POOLS
from ..form import error
from ..layout.context import PlanContext
from ..platform.ceph import DEBIAN
from ..types import Finding
from .domains import domains_of


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about OSDs, pools without enough of them, and the release of Debian."""
    ceph = context.plan.ceph
    if not ceph:
        return
    hosts = context.layout.with_role("storage")
    for kind in (kind for kind, osds in ceph.osds.items() if not osds):
        yield error("no-osds", f"hardware.{kind}.osds")(
            what=f"storage hosts of hardware {kind} have no OSD",
            why="a disk that the site file does not name is never taken, so that none with data is",
            remedy=f"write hardware.{kind}.osds: [{{device: /dev/disk/by-path/...}}], and that hardware in the group",
        )
    files = [kind for kind, osds in ceph.osds.items() if any(one.device is None for one in osds)]
    if files and context.layout.profile.production:
        yield error("osd-in-a-file", *(f"hardware.{kind}.osds" for kind in files))(
            what=f"OSDs of hardware {', '.join(files)} are files, in a site of profile {context.site.profile}",
            why="they share the system's disk: it fills, slows and dies for both (laptop Ceph)",
            remedy="write device: /dev/disk/by-path/..., one a disk",
        )
    rules = {rule.name: rule for rule in ceph.rules}
    for purpose, pool in ceph.pools.items():
        rule = rules[pool.rule]
        have = len(domains_of(context, hosts, rule.failure_domain, device_class=rule.device_class))
        if pool.replicas > have and any(ceph.osds.values()):
            yield error("pool-without-devices", f"storage.pools.{purpose}", "hardware")(
                what=f"pool {pool.name}: {pool.replicas} copies on {rule.device_class}, no two in one "
                f"{rule.failure_domain}, and such OSDs in {have}",
                why="Ceph would place too few copies, and the layer would wait for it in vain",
                remedy=f"give {pool.replicas} {rule.failure_domain}s OSDs of device_class {rule.device_class}, or "
                f"write storage.pools.{purpose}.device_class",
            )
        if pool.replicas == 1:
            yield error("one-copy", f"storage.pools.{purpose}.replicas", "storage.replicas")(
                what=f"pool {pool.name} has one copy of each object",
                why="the loss of one disk loses data, and Ceph itself refuses such a pool unless it is told twice",
                remedy="write 3, or 2 where a lost disk may stop writes",
            )
    for purpose, written in context.site.storage.pools.items():
        if written.name and purpose in POOLS and POOLS[purpose].name not in ("", written.name):
            yield error("pool-name-fixed", f"storage.pools.{purpose}.name")(
                what=f"the pool of {purpose} is called {POOLS[purpose].name}, not {written.name}",
                why="object gateways know their pools by these names, and would make others beside yours",
                remedy="leave the name out",
            )
    if DEBIAN not in context.site.hosts.debian_releases:
        yield error("ceph-needs-debian", "hosts.debian_releases", "storage.backend")(
            what=f"hosts of Debian {', '.join(context.site.hosts.debian_releases)}, and Ceph {ceph.release} is Debian "
            f"{DEBIAN}'s",
            why="Debian 12 has another release of Ceph, whose daemons are no cluster with these",
            remedy=f"install Debian {DEBIAN} on storage hosts and add it to hosts.debian_releases",
        )
