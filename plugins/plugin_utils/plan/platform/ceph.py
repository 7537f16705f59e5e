"""The site's Ceph: monitors, OSDs, CRUSH rules, pools, and capabilities of keys."""

from __future__ import annotations

import math
import uuid
from itertools import zip_longest

from ....module_utils._plan.ceph import (
    Backend,
    CephClient,
    CephMonitor,
    CephOsd,
    CephPlan,
    CephPool,
    CephRule,
    DeviceClass,
)
from ...layers.storage import (
    ADMIN,
    BACKENDS,
    CLIENTS,
    MANAGER,
    OTHER_POOL,
    POOLS,
    ClientRecord,
    PoolRecord,
)  # fmt: skip
from ..layout.context import Layout
from ..layout.places import NO_RACK
from ..model.storage import Pool
from ..types import HostPlan
from .gateway import gateway

RELEASE = 18  # Ceph of Debian 13
DEBIAN = "13"
CONTAINER_ROOT = f"rootfs-storage-{DEBIAN}"  # image of storage hosts that are system containers
NAMESPACE = uuid.UUID("4e5a1c52-0d8c-5f0b-9a43-6ad5a9d3b1c7")  # our UUID namespace for fsids of sites
MANAGERS = 2  # one active, one standby
PGS_PER_OSD = 100  # placement group copies per OSD: Ceph's recommendation
FEWEST_PGS = 8
FASTEST: tuple[DeviceClass, ...] = ("nvme", "ssd", "hdd")
GIB = 1024**3
# osd_memory_target: Ceph accepts no less than the minimum; an OSD seldom uses more than the maximum.
LEAST_MEMORY, MOST_MEMORY = 896 * 1024**2, 16 * GIB
# OSDs' share of a machine's memory: with other work on it, without; and GiB for the system.
SHARED, OWN, SYSTEM_GIB = 0.2, 0.8, 1


def ceph(layout: Layout) -> CephPlan | None:
    """Return the site's Ceph; None without one, without storage hosts, or when an external one is not described."""
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
        clients={name: _client(name, record, fsid, pools) for name, record in CLIENTS.items() if _has(layout, record)},
        osds={kind: osds_of(layout, kind) for kind in dict.fromkeys(host.hardware for host in hosts)},
        locations={host.name: location(layout, host) for host in hosts},
        settings={**layout.profile.ceph, **layout.site.storage.settings},
        backups=layout.site.storage.backups,
        gateway=gateway(layout),
        secrets=_secrets(layout.site.storage.backend, managers),
        metrics=layout.site.monitoring.enabled and layout.site.storage.backend == "native",
        orchestrated=backend.orchestrated,
    )


def _external(layout: Layout) -> CephPlan | None:
    """Return the external Ceph: its address, and the pools and keys of the site's clients."""
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


def _has(layout: Layout, record: PoolRecord | ClientRecord) -> bool:
    """Say whether the site has the pool or client of ``record``."""
    services, general = layout.site.openstack.services, layout.site.storage.general
    return record.service in (None, *services) and record.volumes in (None, general)


def _secrets(backend: Backend, managers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the secrets that we generate for daemons and administrator."""
    each = {MANAGER: [f"{MANAGER}.{one}" for one in managers]}
    return tuple(secret for key in BACKENDS[backend].keys for secret in each.get(key, [key]))


def clients_of(layout: Layout) -> tuple[str, ...]:
    """Return the Ceph clients among the site's services, hypervisors and cluster."""
    services = layout.site.openstack.services
    disks = any(
        layout.hardware[host.hardware].compute.disks == "ceph"
        for host in layout.with_role("hypervisor")
        if host.hardware in layout.hardware
    )
    have = {"glance": "glance" in services, "nova": "nova" in services and disks}
    have |= dict.fromkeys(("cinder", "cinder-backup"), "cinder" in services)
    have["kubernetes"] = _has(layout, CLIENTS["kubernetes"])
    return tuple(name for name in CLIENTS if have.get(name))


def rbd(layout: Layout) -> bool:
    """Say whether volumes of the storage class `general` are images in the plan's Ceph."""
    return layout.site.storage.general == "ceph-rbd" and ceph(layout) is not None


def repository(layout: Layout, release: str) -> str:
    """Return the artifact of supply.lock with a Debian release's packages; includes Ceph's if the site has a Ceph."""
    if layout.site.monitoring.enabled:
        return f"packages-monitoring-{release}"  # and Ceph's
    return f"packages-ceph-{release}" if release == DEBIAN and ceph(layout) else f"packages-{release}"


def artifacts(layout: Layout) -> tuple[str, ...]:
    """Return the artifacts of supply.lock that only sites with their own Ceph need."""
    containers = any(host.provisioner == "container" for host in layout.with_role("storage"))
    return (CONTAINER_ROOT,) if containers and layout.site.storage.backend == "native" else ()


def monitors(layout: Layout) -> int:
    """Return the number of monitors: as written, else 3 with at least three storage hosts, otherwise 1."""
    written = layout.site.storage.monitors
    if isinstance(written, list):
        return len(written)
    return written or (3 if len(layout.with_role("storage")) >= 3 else 1)


def monitor_hosts(layout: Layout) -> list[HostPlan]:
    """Return the storage hosts with a monitor: as written, else spread over racks, so that few fail together."""
    hosts, written = layout.with_role("storage"), layout.site.storage.monitors
    if isinstance(written, list):
        return sorted((host for host in hosts if host.name in written), key=lambda host: written.index(host.name))
    racks: dict[str, list[HostPlan]] = {}
    for host in hosts:
        racks.setdefault(host.rack, []).append(host)
    in_turn = [host for row in zip_longest(*racks.values()) for host in row if host]
    return in_turn[: monitors(layout)]


def address_on(host: HostPlan, network: str) -> str:
    """Return a host's address on ``network``, else its management address."""
    return next((port.address for port in host.interfaces if port.network == network and port.address), host.address)


def location(layout: Layout, host: HostPlan) -> dict[str, str]:
    """Return a host's place in the CRUSH map, narrowest level first."""
    room = layout.site.racks[host.rack].room if host.rack in layout.site.racks else None
    found = {"host": host.name, "rack": None if host.rack == NO_RACK else host.rack, "room": room}
    return {kind: name for kind, name in found.items() if name}


def osds_of(layout: Layout, hardware: str) -> tuple[CephOsd, ...]:
    """Return the OSDs that each storage host of a hardware profile has."""
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
    """Return the number of OSDs by device class, fastest class first."""
    found = [one.device_class for host in layout.with_role("storage") for one in osds_of(layout, host.hardware)]
    return {kind: found.count(kind) for kind in FASTEST if kind in found}


def _pools(layout: Layout) -> tuple[tuple[CephRule, ...], dict[str, CephPool]]:
    written = layout.site.storage
    osds = counted(layout)
    rules: dict[str, CephRule] = {}
    pools: dict[str, CephPool] = {}
    ours = [one for one, pool in POOLS.items() if _has(layout, pool)]
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
    """Return pg_num of a pool with ``share`` of the data on ``osds`` OSDs: the nearest power of two, at least 8."""
    wanted = osds * PGS_PER_OSD * share / replicas
    return int(max(FEWEST_PGS, 2 ** round(math.log2(max(1.0, wanted)))))


def _client(service: str, record: ClientRecord, fsid: str, pools: dict[str, CephPool], *, user: str = "") -> CephClient:
    writes, reads = ([pools[purpose].name for purpose in purposes] for purposes in (record.writes, record.reads))
    writing = ", ".join(f"{'profile rbd' if record.images else 'allow rwx'} pool={name}" for name in writes)
    reading = (f"profile rbd-read-only pool={name}" for name in reads)
    name = f"client.{user or service}"
    # The layer creates pools, so a gateway needs only read access to the monitors.
    others = {"mon": "profile rbd" if record.images else "allow r"}
    others |= {"mgr": writing} if record.images and record.tasks else {}
    return CephClient(
        name=name,
        secret=f"ceph/client.{service}",
        uuid=str(uuid.uuid5(uuid.UUID(fsid), name)),
        writes=tuple(writes),
        reads=tuple(reads),
        caps={"osd": ", ".join((writing, *reading)), **others},
    )
