"""Types of the plan's parts that know no other part: see `types.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..layers.storage import Backend, Backups, DeviceClass

LinkKind = Literal["port", "bond", "bridge", "vlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlan:
    """One link of a host whose network the site manages. Links it stands on come before it."""

    name: str
    kind: LinkKind
    mtu: int
    mac: str | None = None  # port: it is found by this; bond: it has this, its first member's; None: by its name
    rename: bool = False  # port found by its MAC address: whether it is given the name
    members: tuple[str, ...] = ()  # of a bond or bridge
    mode: str | None = None  # of a bond
    lacp_rate: str | None = None
    primary: str | None = None
    vlan: int | None = None
    parent: str | None = None  # the link that carries the VLAN
    network: str | None = None  # whose packets it carries without a tag; None: members and carriers
    address: str | None = None  # with its prefix length
    routes: tuple[tuple[str, str], ...] = ()  # destination, gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightRoles:
    """What preflight looks for on hosts of the same roles."""

    node: bool  # of the cluster
    listens: dict[str, tuple[str, ...]]  # port ("6443/tcp") -> the site's programs that listen there
    space: dict[str, int]  # directory -> GiB that layers write there
    kernel_modules: tuple[str, ...]  # that must be there, loaded or not
    reaches: dict[str, tuple[int, ...]]  # address -> TCP ports that must not be filtered; sshd's first


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightPlan:
    """What preflight holds hosts to, beside their own plan."""

    systems: tuple[dict[str, str], ...]  # the table of supported systems
    hardware: dict[str, dict[str, Any]]  # by name, those in use
    hardware_required: bool  # whether a smaller machine is an error
    swap: bool  # whether kubelets start with swap on
    cgroup_v1: bool  # whether kubelets start with control groups of version 1
    eviction: bool  # whether kubelets have their own limits of free disk
    unused_networks: tuple[str, ...]  # no layer of this version uses them
    control: dict[str, tuple[str, ...]]  # by network: control hosts, to which every host sends packets
    by_roles: dict[str, PreflightRoles]  # roles joined by "+"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPlan:
    """The part of the network provisioning in one rack, whose leaf relays DHCP to the seed."""

    rack: str
    cidr: str
    gateway: str  # the leaf, there
    pool: tuple[str, str] | None  # as the seed's own segment has one


@dataclass(frozen=True, slots=True, kw_only=True)
class NetbootPlan:
    """How machines boot from the network."""

    programs: str  # file of dnsmasq and iPXE, below files_url
    plane: str  # the whole network
    cidr: str  # of the seed's own segment
    gateway: str | None
    leaves: tuple[LeafPlan, ...]  # the other segments
    address: str  # of the seed there
    seed_address: str  # of the seed where ramdisks call it
    port: int
    url: str
    pool: tuple[str, str] | None  # first and last address for machines that nobody knows; None: they get no answer


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerPlan:
    """What the seed runs on machines that called home."""

    release: str  # of ansible-core
    environment: str  # its file below files_url
    layers: tuple[str, ...]
    source: str  # address that its logins come from


@dataclass(frozen=True, slots=True, kw_only=True)
class MetalPlan:
    """How machines are installed from power-off."""

    release: str  # of Ironic
    environment: str  # its file below files_url
    ramdisk: str  # directory of the deploy ramdisk, below files_url
    image: str  # file of the operating system, below files_url
    files_url: str  # supply's, by the seed's address: neither a ramdisk nor the seed itself knows names yet
    api_url: str
    api_inside: int
    media_url: str
    contact_inside: int
    netboot: NetbootPlan | None  # None: no machine boots from the network
    machines_inside: int
    runner: RunnerPlan | None  # None: the controller configures machines


@dataclass(frozen=True, slots=True, kw_only=True)
class CephMonitor:
    """A MON daemon. Its address never changes: clients keep it, instances' domains too."""

    name: str  # the host's
    address: str  # on the storage network; ports 3300 (msgr2) and 6789


@dataclass(frozen=True, slots=True, kw_only=True)
class CephRule:
    """Where copies of an object are."""

    name: str  # "host-ssd"
    failure_domain: str  # no two copies share one
    device_class: DeviceClass


@dataclass(frozen=True, slots=True, kw_only=True)
class CephPool:
    """A pool."""

    name: str
    application: str
    replicas: int
    min_size: int  # with fewer copies nothing is written
    pg_num: int  # 0: as the cluster's own default says
    rule: str  # "": the cluster's default


@dataclass(frozen=True, slots=True, kw_only=True)
class CephClient:
    """The one key of a service."""

    name: str  # "client.glance"
    secret: str  # of the store: "ceph/client.glance"
    uuid: str  # of libvirt's secret with this key
    writes: tuple[str, ...]  # names of pools
    reads: tuple[str, ...]
    caps: dict[str, str]  # by kind of daemon: "mon", "osd", "mgr"


@dataclass(frozen=True, slots=True, kw_only=True)
class CephOsd:
    """An OSD of each machine of a hardware profile."""

    name: str  # of the device or file, as written
    device: str | None  # path of a block device; None: a file below the OSD's directory
    size_gb: int | None  # of the file
    device_class: DeviceClass
    memory: int  # bytes it is told to keep to


@dataclass(frozen=True, slots=True, kw_only=True)
class CephGateway:
    """The object gateway of each storage host."""

    client: str  # whose key it has: "client.rgw"
    port: int  # with TLS
    password: str  # secret: of its account in Keystone
    health_path: str  # answers whoever asks
    settings: dict[str, str]  # options of the daemon that are the same on every host


@dataclass(frozen=True, slots=True, kw_only=True)
class CephPlan:
    """The site's Ceph."""

    backend: Backend
    fsid: str
    release: int  # 18
    public_network: str
    monitors: tuple[CephMonitor, ...]
    mon_host: str  # as ceph.conf writes it
    managers: tuple[str, ...]  # hosts, the first is active first
    rules: tuple[CephRule, ...]
    pools: dict[str, CephPool]  # by purpose: images, volumes, vms, backups, and what the site file adds
    clients: dict[str, CephClient]  # by service: glance, cinder, cinder-backup, nova
    osds: dict[str, tuple[CephOsd, ...]]  # by hardware profile, those of storage hosts
    locations: dict[str, dict[str, str]]  # by storage host: its place in the CRUSH map, below root
    secrets: tuple[str, ...]  # of the daemons, beside the clients'
    settings: dict[str, str]  # further options of every daemon: the profile's, and those of the site file
    backups: Backups  # of Cinder
    gateway: CephGateway | None  # on every storage host; None: the site has no object store
    given: tuple[str, ...] = ()  # secrets that only who runs the cluster can give
    make: bool = True  # whether the layer makes pools and keys, else it verifies what it may
    orchestrated: bool = False  # whether an orchestrator is told what to run
