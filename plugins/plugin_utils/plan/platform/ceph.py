"""The site's Ceph: who watches, where copies are, pools, and what each key may do."""

from __future__ import annotations

import math
import uuid
from itertools import zip_longest

from ...layers.storage import ADMIN, BACKENDS, CLIENTS, MANAGER, OTHER_POOL, POOLS, Backend, ClientRecord, DeviceClass
from ..layout.context import Layout
from ..layout.places import NO_RACK
from ..model.storage import Pool
from ..part_types import CephClient, CephMonitor, CephOsd, CephPlan, CephPool, CephRule
from ..types import HostPlan
from .gateway import gateway

RELEASE = 18  # Debian 13's
DEBIAN = "13"
CONTAINER_ROOT = f"rootfs-storage-{DEBIAN}"  # what storage hosts that are containers are made from
NAMESPACE = uuid.UUID("4e5a1c52-0d8c-5f0b-9a43-6ad5a9d3b1c7")  # of ours: sites' fsids are made in it
MANAGERS = 2  # one works, one waits
PGS_PER_OSD = 100  # copies of placement groups: what Ceph's own advice comes to
FEWEST_PGS = 8
FASTEST: tuple[DeviceClass, ...] = ("nvme", "ssd", "hdd")
GIB = 1024**3
# Ceph takes no less; more than this an OSD seldom makes use of.
LEAST_MEMORY, MOST_MEMORY = 896 * 1024**2, 16 * GIB
# What of a machine's memory OSDs may have together: where it does other work, too, and where it does not.
SHARED, OWN, SYSTEM_GIB = 0.2, 0.8, 1


def ceph(layout: Layout) -> CephPlan | None:
    """Return the site's Ceph; None where it has none, or nobody says where it is."""
    hosts = layout.with_role("storage")
    backend = BACKENDS[layout.site.storage.backend]
    if layout.site.storage.backend == "external":
        return _external(layout)
    if not backend.layer or not hosts:
        return None
    network = (layout.by_purpose("storage") or [layout.management])[0]
    fsid = str(uuid.uuid5(NAMESPACE, f"{layout.site.site}.{layout.site.domain}"))
    watching = monitor_hosts(layout)
    monitors = tuple(CephMonitor(name=one.name, address=address_on(one, network.name)) for one in watching)
    managers = tuple(one.name for one in watching[:MANAGERS])
    rules, pools = _pools(layout)
    return CephPlan(
        backend=layout.site.storage.backend,
        fsid=fsid,
        release=RELEASE,
        public_network=network.cidr,
        monitors=monitors,
        mon_host=",".join(one.address for one in monitors),
        managers=managers,
        rules=rules,
        pools=pools,
        clients={
            name: _client(name, record, fsid, pools)
            for name, record in CLIENTS.items()
            if record.service in (None, *layout.site.openstack.services)
        },
        osds={kind: osds_of(layout, kind) for kind in dict.fromkeys(host.hardware for host in hosts)},
        locations={host.name: location(layout, host) for host in hosts},
        settings={**layout.profile.ceph, **layout.site.storage.settings},
        backups=layout.site.storage.backups,
        gateway=gateway(layout),
        secrets=_secrets(layout.site.storage.backend, managers),
        orchestrated=backend.orchestrated,
    )


def _external(layout: Layout) -> CephPlan | None:
    """Return the Ceph that somebody else runs: its place, and pools and keys of the clients that the site has."""
    written, storage = layout.site.storage.external, layout.site.storage
    if not written:
        return None
    network = (layout.by_purpose("storage") or [layout.management])[0]
    used = {name: CLIENTS[name] for name in clients_of(layout)}
    purposes = dict.fromkeys((*(one for record in used.values() for one in (*record.writes, *record.reads)),))
    pools = {}
    for purpose in (*purposes, *(name for name in storage.pools if name not in POOLS)):
        pool = storage.pools.get(purpose) or Pool()
        replicas = pool.replicas or storage.replicas
        pools[purpose] = CephPool(
            name=pool.name or purpose,
            application=POOLS.get(purpose, OTHER_POOL).application,
            replicas=replicas,
            min_size=replicas // 2 + 1,
            pg_num=0,
            rule="",
        )
    clients = {
        name: _client(name, record, written.fsid, pools, user=written.clients.get(name, name))
        for name, record in used.items()
    }
    return CephPlan(
        backend=storage.backend,
        fsid=written.fsid,
        release=RELEASE,
        public_network=network.cidr,
        monitors=tuple(CephMonitor(name=address, address=address) for address in written.monitors),
        mon_host=",".join(written.monitors),
        managers=(),
        rules=(),
        pools=pools,
        clients=clients,
        osds={},
        locations={},
        settings={},
        backups=storage.backups,
        gateway=None,
        secrets=(ADMIN,) if written.make else (),
        given=(ADMIN,) if written.make else tuple(one.secret for one in clients.values()),
        make=written.make,
    )


def _secrets(backend: Backend, managers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys that are ours to make, beside the clients'."""
    each = {MANAGER: [f"{MANAGER}.{one}" for one in managers]}
    return tuple(secret for key in BACKENDS[backend].keys for secret in each.get(key, [key]))


def clients_of(layout: Layout) -> tuple[str, ...]:
    """Return the clients of Ceph that the site's services and hypervisors are."""
    services = layout.site.openstack.services
    disks = any(
        layout.hardware[host.hardware].compute.disks == "ceph"
        for host in layout.with_role("hypervisor")
        if host.hardware in layout.hardware
    )
    have = {"glance": "glance" in services, "nova": "nova" in services and disks}
    have |= dict.fromkeys(("cinder", "cinder-backup"), "cinder" in services)
    return tuple(name for name in CLIENTS if have.get(name))


def repository(layout: Layout, release: str) -> str:
    """Return the lock's artifact with the packages of a Debian release: with Ceph's where the site runs it by them."""
    return f"packages-ceph-{release}" if release == DEBIAN and ceph(layout) else f"packages-{release}"


def artifacts(layout: Layout) -> tuple[str, ...]:
    """Return the lock's artifacts that only sites with a Ceph of their own need."""
    containers = any(host.provisioner == "container" for host in layout.with_role("storage"))
    return (CONTAINER_ROOT,) if containers and layout.site.storage.backend == "native" else ()


def monitors(layout: Layout) -> int:
    """Return how many monitors the site is to have: as written, else an odd number of at most three."""
    written = layout.site.storage.monitors
    if isinstance(written, list):
        return len(written)
    return written or (3 if len(layout.with_role("storage")) >= 3 else 1)


def monitor_hosts(layout: Layout) -> list[HostPlan]:
    """Return the storage hosts with a monitor: as written, else racks in turn, so that few fall with one."""
    hosts, written = layout.with_role("storage"), layout.site.storage.monitors
    if isinstance(written, list):
        return sorted((host for host in hosts if host.name in written), key=lambda host: written.index(host.name))
    racks: dict[str, list[HostPlan]] = {}
    for host in hosts:
        racks.setdefault(host.rack, []).append(host)
    in_turn = [host for row in zip_longest(*racks.values()) for host in row if host]
    return in_turn[: monitors(layout)]


def address_on(host: HostPlan, network: str) -> str:
    """Return a host's address on ``network``, else the one it is managed by."""
    return next((port.address for port in host.interfaces if port.network == network and port.address), host.address)


def location(layout: Layout, host: HostPlan) -> dict[str, str]:
    """Return a host's place in the CRUSH map, the narrowest first."""
    room = layout.site.racks[host.rack].room if host.rack in layout.site.racks else None
    found = {"host": host.name, "rack": None if host.rack == NO_RACK else host.rack, "room": room}
    return {kind: name for kind, name in found.items() if name}


def osds_of(layout: Layout, hardware: str) -> tuple[CephOsd, ...]:
    """Return the OSDs of each storage host of a hardware profile."""
    known = layout.hardware.get(hardware)
    written = known.osds if known else []
    busy = any(
        host.node_labels or "hypervisor" in host.roles
        for host in layout.with_role("storage")
        if host.hardware == hardware
    )
    room = (known.memory_gb - SYSTEM_GIB if known else 0) * GIB * (SHARED if busy else OWN)
    memory = min(max(int(room / max(1, len(written))), LEAST_MEMORY), MOST_MEMORY)
    return tuple(
        CephOsd(
            name=one.device or one.file or "",
            device=one.device,
            size_gb=one.size_gb,
            device_class=one.device_class,
            memory=memory,
        )
        for one in written
    )


def counted(layout: Layout) -> dict[DeviceClass, int]:
    """Return how many OSDs the site has, by device class, the fastest first."""
    found = [one.device_class for host in layout.with_role("storage") for one in osds_of(layout, host.hardware)]
    return {kind: found.count(kind) for kind in FASTEST if kind in found}


def _pools(layout: Layout) -> tuple[tuple[CephRule, ...], dict[str, CephPool]]:
    written = layout.site.storage
    osds = counted(layout)
    rules: dict[str, CephRule] = {}
    pools: dict[str, CephPool] = {}
    ours = [one for one, pool in POOLS.items() if pool.service in (None, *layout.site.openstack.services)]
    wanted = {purpose: written.pools.get(purpose) or Pool() for purpose in (*ours, *written.pools)}
    shares = {purpose: POOLS.get(purpose, OTHER_POOL).share for purpose in wanted}
    fastest: DeviceClass = next(iter(osds), "ssd")
    on = {purpose: pool.device_class or fastest for purpose, pool in wanted.items()}
    for purpose, pool in wanted.items():
        domain = pool.failure_domain or written.failure_domain or layout.profile.failure_domain
        rule = CephRule(name=f"{domain}-{on[purpose]}", failure_domain=domain, device_class=on[purpose])
        rules[rule.name] = rule
        replicas = pool.replicas or written.replicas
        beside = sum(share for other, share in shares.items() if on[other] == on[purpose]) or 1  # all may expect none
        pools[purpose] = CephPool(
            name=POOLS.get(purpose, OTHER_POOL).name or pool.name or purpose,
            application=POOLS.get(purpose, OTHER_POOL).application,
            replicas=replicas,
            min_size=replicas // 2 + 1,
            pg_num=placement_groups(osds.get(on[purpose], 0), share=shares[purpose] / beside, replicas=replicas),
            rule=rule.name,
        )
    return tuple(rules.values()), pools


def placement_groups(osds: int, *, share: float, replicas: int) -> int:
    """Return the power of two nearest to what a pool with ``share`` of the data of ``osds`` should have."""
    wanted = osds * PGS_PER_OSD * share / replicas
    return int(max(FEWEST_PGS, 2 ** round(math.log2(max(1.0, wanted)))))


def _client(service: str, record: ClientRecord, fsid: str, pools: dict[str, CephPool], *, user: str = "") -> CephClient:
    writes, reads = ([pools[purpose].name for purpose in purposes] for purposes in (record.writes, record.reads))
    writing = ", ".join(f"{'profile rbd' if record.images else 'allow rwx'} pool={name}" for name in writes)
    reading = (f"profile rbd-read-only pool={name}" for name in reads)
    name = f"client.{user or service}"
    # Pools are made by the layer, so a gateway asks monitors for nothing but the map.
    others = {"mon": "profile rbd", "mgr": writing} if record.images else {"mon": "allow r"}
    return CephClient(
        name=name,
        secret=f"ceph/client.{service}",
        uuid=str(uuid.uuid5(uuid.UUID(fsid), name)),
        writes=tuple(writes),
        reads=tuple(reads),
        caps={"osd": ", ".join((writing, *reading)), **others},
    )
