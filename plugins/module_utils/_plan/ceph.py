"""The site's Ceph, as the plan decides it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Backend = Literal["none", "native", "cephadm", "rook", "external"]
Backups = Literal["pool", "objects"]
DeviceClass = Literal["hdd", "ssd", "nvme"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CephMonitor:
    """A MON daemon. Its address never changes: clients keep it, and so do domains of running instances."""

    name: str  # the host's
    address: str  # on the storage network; ports 3300 (msgr2) and 6789


@dataclass(frozen=True, slots=True, kw_only=True)
class CephRule:
    """A CRUSH rule: where copies of an object are placed."""

    name: str  # "host-ssd"
    failure_domain: str  # no two copies share one
    device_class: DeviceClass


@dataclass(frozen=True, slots=True, kw_only=True)
class CephPool:
    name: str
    application: str
    replicas: int
    min_size: int  # with fewer copies, writes stop
    pg_num: int  # 0: the cluster's default
    rule: str  # CRUSH rule; "": the cluster's default


@dataclass(frozen=True, slots=True, kw_only=True)
class CephClient:
    """The Ceph key of one service."""

    name: str  # "client.glance"
    secret: str  # name in the secrets store: "ceph/client.glance"
    uuid: str  # of libvirt's secret that holds this key
    writes: tuple[str, ...]  # names of pools
    reads: tuple[str, ...]
    caps: dict[str, str]  # by kind of daemon: "mon", "osd", "mgr"


@dataclass(frozen=True, slots=True, kw_only=True)
class CephOsd:
    """An OSD on each machine of a hardware profile."""

    name: str  # the device or file, as in the site file
    device: str | None  # path of a block device; None: a file below the OSD's directory
    size_gb: int | None  # of the file
    device_class: DeviceClass
    memory: int  # osd_memory_target, bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CephGateway:
    """The object gateway (radosgw) of each storage host."""

    client: str  # Ceph user whose key it uses: "client.rgw"
    port: int  # with TLS
    password: str  # name in the secrets store: password of its Keystone account
    health_path: str  # needs no authentication
    settings: dict[str, str]  # daemon options, the same on every host


@dataclass(frozen=True, slots=True, kw_only=True)
class CephPlan:
    """The site's Ceph."""

    backend: Backend
    fsid: str
    release: int  # major version, such as 18
    public_network: str
    monitors: tuple[CephMonitor, ...]
    mon_host: str  # value of mon_host in ceph.conf
    managers: tuple[str, ...]  # hosts; the first becomes active first
    rules: tuple[CephRule, ...]
    pools: dict[str, CephPool]  # by purpose: images, volumes, vms, backups, and those added in the site file
    clients: dict[str, CephClient]  # by service: glance, cinder, cinder-backup, nova, kubernetes
    osds: dict[str, tuple[CephOsd, ...]]  # by hardware profile of storage hosts
    locations: dict[str, dict[str, str]]  # by storage host: its place in the CRUSH map, below root
    secrets: tuple[str, ...]  # names of the daemons' secrets, without those of clients
    settings: dict[str, str]  # further options of every daemon, from the profile and the site file
    backups: Backups  # of Cinder
    gateway: CephGateway | None  # on every storage host; None: no object store
    given: tuple[str, ...] = ()  # secrets that only the operator of an external cluster can provide
    make: bool = True  # whether the layer creates pools and keys; False: it verifies what it may read
    metrics: bool = False  # whether we have managers tell metrics, for monitoring
    orchestrated: bool = False  # whether an orchestrator (cephadm, Rook) deploys the daemons
