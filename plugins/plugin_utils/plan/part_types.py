"""Types of the plan's parts that need no other part's types. The rest is in `types.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...module_utils._plan.preflight import PreflightRoles, PreflightSite
from ..layers.storage import Backend, Backups, DeviceClass

LinkKind = Literal["port", "bond", "bridge", "vlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlan:
    """Who may log in to the hosts, and how the controller logs in."""

    user: str  # account of the controller; it may become root
    authorized_keys: tuple[str, ...]  # further public keys, in addition to the site's own
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlan:
    """One link of a host whose network the site manages. The links it is built on come before it."""

    name: str
    kind: LinkKind
    mtu: int
    mac: str | None = None  # port: found by it; bond: its first member's; None: found by name
    rename: bool = False  # port found by its MAC address: whether it is renamed to `name`
    members: tuple[str, ...] = ()  # of a bond or bridge
    mode: str | None = None  # of a bond
    lacp_rate: str | None = None
    primary: str | None = None
    vlan: int | None = None
    parent: str | None = None  # the link that carries the VLAN
    network: str | None = None  # network it carries untagged; None: a member, or carries VLANs only
    address: str | None = None  # with prefix length
    routes: tuple[tuple[str, str], ...] = ()  # destination, gateway ("": none, it is on the link itself)
    route_mtu: int | None = None  # of `network`, where the link has more for its VLANs


@dataclass(frozen=True, kw_only=True)
class PreflightPlan(PreflightSite):
    """What preflight expects of all hosts, beside each host's own plan."""

    hardware: dict[str, dict[str, Any]]  # hardware profiles in use, by name
    by_roles: dict[str, PreflightRoles]  # roles joined by "+"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPlan:
    """One rack's segment of the provisioning network. Its leaf switch relays DHCP to the seed."""

    rack: str
    cidr: str
    gateway: str  # the leaf's address
    pool: tuple[str, str] | None  # as `NetbootPlan.pool`


@dataclass(frozen=True, slots=True, kw_only=True)
class NetbootPlan:
    """Settings of network boot."""

    programs: str  # file with dnsmasq and iPXE, below files_url
    plane: str  # the whole network
    cidr: str  # segment of the seed
    gateway: str | None
    leaves: tuple[LeafPlan, ...]  # segments of other racks
    address: str  # of the seed on the provisioning network
    seed_address: str  # of the seed, where ramdisks call it
    port: int
    url: str
    pool: tuple[str, str] | None  # first and last address for unknown machines; None: they get no answer


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerPlan:
    """What the seed runs on machines that have called home after installation."""

    release: str  # of ansible-core
    environment: str  # its file below files_url
    layers: tuple[str, ...]
    source: str  # source address of its ssh logins


@dataclass(frozen=True, slots=True, kw_only=True)
class MetalPlan:
    """Settings for installing machines from power-off."""

    release: str  # of Ironic
    environment: str  # its file below files_url
    ramdisk: str  # directory of the deploy ramdisk, below files_url
    image: str  # file of the operating system, below files_url
    files_url: str  # the file tree by the seed's IP: ramdisks and the seed itself resolve no names yet
    api_url: str
    api_inside: int
    media_url: str
    contact_inside: int
    netboot: NetbootPlan | None  # None: no machine boots from the network
    machines_inside: int
    runner: RunnerPlan | None  # None: the controller configures machines


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
    """A Ceph pool."""

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
    orchestrated: bool = False  # whether an orchestrator (cephadm, Rook) deploys the daemons
