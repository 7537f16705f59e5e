"""Types of the plan: the contract between the site file and everything that carries it out.

Plain frozen dataclasses of JSON-friendly values (addresses are strings), read by roles, charts, the rollout engine and
the seed. Nothing is computed here: `compile.py` fills them in. A role reads nothing else. Types
that hosts need, too, are defined in `module_utils/_plan`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ...module_utils._base.faults import Fault
from ...module_utils._plan.ceph import CephClient, CephPlan
from ...module_utils._plan.container import InterfacePlan, NetworkPlan, WiredHost
from ...module_utils._plan.kubernetes import CniName, CniPlan, KubernetesPlan, NodeSupply, ReleasePlan
from ..layers.enough import SuccessCriteria
from ..layers.provisioners import Approve, Provisioner
from ..layers.roles import Role
from ..layers.scales import Scale
from .part_types import (
    AccessPlan,
    BackupPlan,
    FailurePlan,
    IdentityPlan,
    LinkPlan,
    MetalPlan,
    MonitoringPlan,
    PreflightPlan,
    ProxyPlan,
    ResourcePlan,
    SriovPlan,
)

__all__ = (
    "CniName",
    "CniPlan",
    "InterfacePlan",
    "KubernetesPlan",
    "NetworkPlan",
    "ReleasePlan",
    "ResourcePlan",
)  # the plan's, too

Severity = Literal["error", "warning", "info"]
EdgeKind = Literal["haproxy", "gateway-api"]
FailureDomain = Literal["osd", "host", "rack", "room"]
SupplySource = Literal["build", "registry", "upstream"]
CacheSource = Literal["build", "upstream"]
PackageSource = Literal["seed", "mirror", "host"]
Updates = Literal["site", "debian"]
DebianRelease = Literal["12", "13"]
TenantNetwork = Literal["geneve", "vlan", "flat"]
PodSecurity = Literal["restricted", "baseline", "privileged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Fault):
    """One finding. ``error`` stops every layer; ``warning`` and ``info`` are shown."""

    name: str  # stable, kebab-case: "cidr-overlap"
    severity: Severity
    where: tuple[str, ...]  # key paths in the site file: "networks.storage.vlan"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlan(WiredHost):
    """One machine."""

    group: str  # group of machines in the site file
    roles: tuple[Role, ...]
    rack: str
    hardware: str  # hardware profile
    provisioner: Provisioner
    links: tuple[LinkPlan, ...]  # empty: not managed by the site, or not discovered yet
    bmc: dict[str, Any] | None
    serial: str | None
    system_disk: dict[str, Any] | None  # criteria for the system's disk; None: the smallest that is large enough
    host_key: str | None  # public key of its sshd, when the site file has it
    node_labels: dict[str, str] = field(default_factory=dict)  # Kubernetes labels; empty: not a Kubernetes node
    node_taints: tuple[str, ...] = ()
    zone: str | None = None  # of a hypervisor: its availability zone; None: Nova's default
    place_labels: dict[str, str] = field(default_factory=dict)  # of a hypervisor: rack, room and the group's labels
    # From its roles, in addition to `HostSettings`.
    packages: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by the layer that installs them
    sysctl: dict[str, str] = field(default_factory=dict)
    kernel_modules: tuple[str, ...] = ()
    neighbours: dict[str, tuple[str, ...]] = field(default_factory=dict)  # network -> targets of preflight's packets
    approve: Approve = "ask"  # whether a discovered machine that fits is approved without a question
    # The seed, on its provisioning network, when the site file names no servers; else empty: `HostSettings` has them.
    ntp_servers: tuple[str, ...] = ()
    dns_servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """Settings of every host, whatever its role."""

    timezone: str
    ntp_servers: tuple[str, ...]
    dns_servers: tuple[str, ...]
    names: dict[str, str]  # name -> address of names every host must resolve (VIP names, registry, seed)
    sysctl: dict[str, str]  # parameter -> value; `*` stands for every interface
    kernel_modules: tuple[str, ...]
    packages: PackageSource  # source of OS packages
    debian_releases: tuple[DebianRelease, ...]  # releases whose packages the seed serves; empty: it serves none
    packages_url: str | None  # the only apt repository; None: the host's own sources stay
    packages_suites: tuple[str, ...]  # empty: the host's release
    packages_components: tuple[str, ...]
    packages_key: str | None  # armored; None: Debian's keys
    packages_ca: str | None  # PEM, trusted for packages_url only; None: the host's trust store
    trusted_cas: tuple[str, ...]  # PEM, one each: trusted beside the site's own CA
    packages_proxy: ProxyPlan | None  # of the host's own sources; None: as the host itself has it
    updates: Updates  # who changes installed packages
    hardening: bool
    disabled_units: tuple[str, ...]
    blocked_modules: tuple[str, ...]
    volumes: tuple[str, ...]  # directories for overlays or much data


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplyPlan(NodeSupply):
    """Where artifacts come from, and where the site serves them."""

    source: SupplySource
    cache_source: CacheSource  # of charts, chosen artifacts and what the seed serves, with a registry too
    registry_inside: str  # "127.0.0.1:5001": the registry itself, on the seed; images are pushed here
    files_url: str  # "https://registry.lab.test:8080": binaries and archives, by <artifact>/<version>/<file>
    files_root: str  # "/srv/groundup": the directory of the same tree on the seed
    seed: str | None  # host that serves both; None: an existing registry is used
    readers: tuple[str, ...]  # networks the seed serves; requests from others are refused
    ca: str | None  # PEM: CA of an existing registry and file tree, trusted for these only
    packages: dict[DebianRelease, str]  # path of the seed's repository below files_url: "packages-13/13"
    images: dict[str, str]  # logical image name of the lock -> full reference
    chosen: tuple[str, ...] = ()  # artifacts and groups of supply.lock that only some sites need, and this one does


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPlan:
    """A public API of the site: a name on the VIP, TLS, and the port where the cluster serves it."""

    service: str  # "keystone"
    type: str  # catalog type: "identity"
    name: str  # "identity.lab.test"
    url: str  # "https://identity.lab.test/v3"
    node_port: int  # 0: `servers` serve it
    health_path: str  # path of HAProxy's health check: "/v3/"
    in_catalog: bool = True
    servers: dict[str, str] = field(default_factory=dict)  # host -> address:port, with TLS; {}: the cluster serves it
    clients: tuple[str, ...] = ()  # networks that may ask; (): anyone
    internal: bool = False  # whether no user needs it: it is not at the virtual IP for users


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPlan:
    """The virtual IP for users, on a network of its own."""

    address: str
    network: str
    cidr: str  # of the segment that it is on
    gateway: str | None  # by which users come; None: they are on that network
    router_id: int  # VRRP router id: adverts go by the management network


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePlan:
    """The virtual IP and the endpoints on it."""

    kind: EdgeKind
    address: str
    network: str
    prefix: int
    router_id: int  # VRRP router id, 1-255, unique on the network
    hosts: tuple[str, ...]  # may hold the virtual IP, in order of preference
    endpoints: tuple[EndpointPlan, ...]
    certificate: str = ""  # PEM, leaf first: the operator's own of the public names; "": the site's CA issues one
    public: PublicPlan | None = None  # None: users ask at `address`
    public_root: str = ""  # PEM: the public CA that it ends with; "": it ends with one of the site or a company


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetPoolPlan:
    """Addresses that projects get subnets of when they name none."""

    cidr: str
    prefix: int  # length of a subnet that names no other


@dataclass(frozen=True, slots=True, kw_only=True)
class OvnPlan:
    """The tenants' network (OVN)."""

    tenant_network: TenantNetwork
    tunnel_ids: str  # geneve: "first-last"
    vlan_range: str | None  # vlan: "first-last"
    max_header_size: int  # bytes of a Geneve header with OVN's options
    tenant_mtu: int
    distributed_floating_ip: bool
    bridge_mappings: dict[str, str]  # physical network -> provider network
    northbound: tuple[str, ...]  # OVN's databases, one address per control host: "ssl:10.0.0.11:6641"
    southbound: tuple[str, ...]  # for northd and Neutron: the listener without RBAC
    path_mtu: int  # MTU of the network that carries the tunnels
    physical_mtus: dict[str, int]  # physical network -> MTU
    election_timer: int  # milliseconds without a heartbeat until members elect a new leader
    inactivity_probe: int  # milliseconds of silence until the databases probe a client
    subnet_pool: SubnetPoolPlan | None = None  # the default one of all projects; None: Neutron's own stay


@dataclass(frozen=True, slots=True, kw_only=True)
class HypervisorPlan:
    """Settings of every hypervisor."""

    southbound: tuple[str, ...]  # members of OVN's southbound database: "ssl:10.90.0.11:6642"
    compute: dict[str, dict[str, Any]]  # fields of `Compute`, by hardware profile of hypervisors
    environments: dict[DebianRelease, str]  # file with the Python environment, below files_url
    volumes: CephClient | None  # key for Cinder's volumes; Cinder passes it to Nova. None: no volumes in Ceph
    disks: CephClient | None  # key for instances' disks in Ceph; None: no hardware profile has them there
    programs: dict[str, str]  # path of what services call at run time -> what fails without it
    sriov: dict[str, tuple[SriovPlan, ...]] = field(default_factory=dict)  # by hardware profile; those without: none


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraReleasePlan:
    """A release of the site's own: what its values and its namespace are made from."""

    values: dict[str, Any] | str  # as written; a string: path of the file with them
    images: dict[str, str]  # name in the values -> image of the supply
    ports: tuple[int, ...]  # of its pods, open to everybody
    pod_security: PodSecurity


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsPlan:
    """DNS names of instances, and the name servers of users' zones."""

    domain: str | None  # of instances; None: ports have no names
    name_servers: dict[str, str]  # the site's own: host name -> address


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStackPlan:
    """The OpenStack cloud."""

    release: str  # "2026.1"
    region: str
    namespace: str
    services: tuple[str, ...]
    charts: str  # builtin, a directory, a Helm repository URL or oci:// reference
    releases: tuple[ReleasePlan, ...]
    images: tuple[str, ...]  # images its pods run, in the order releases need them
    scale: Scale  # of services, by the smallest node they run on
    cpu_share: float  # cores of the smallest node it runs on / cores of the profile's control host; at most 1
    dns: DnsPlan
    replicas: dict[str, int] = field(default_factory=dict)  # as written: members or pods by service, pods of each `api`
    workers: dict[str, int] = field(default_factory=dict)  # as written: processes per pod, by service
    quotas: dict[str, int] = field(default_factory=dict)  # of a project, by `services.quotas`; -1: no limit
    image_sources: list[str] = field(default_factory=list)  # hosts that Glance fetches images from for users
    hypervisor_failure: FailurePlan | None = None  # None: nothing happens by itself
    image_signatures: Literal["optional", "required"] = "optional"  # required: of what hypervisors start
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)  # release -> values merged over the plan's
    extra_releases: dict[str, ExtraReleasePlan] = field(default_factory=dict)
    upgrading: tuple[str, ...] = ()  # while a step is open, the other releases that hypervisors may have


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything decided before a machine is touched."""

    site: str
    domain: str
    profile: str
    networks: dict[str, NetworkPlan]
    hosts: dict[str, HostPlan]
    max_unavailable: dict[str, int]  # group of machines -> how many may be missing while a run goes on
    enough: dict[str, SuccessCriteria]  # groups that a run does not wait for completely
    access: AccessPlan
    host: HostSettings
    preflight: PreflightPlan
    supply: SupplyPlan
    kubernetes: KubernetesPlan
    edge: EdgePlan
    ovn: OvnPlan
    openstack: OpenStackPlan
    identity: IdentityPlan
    hypervisor: HypervisorPlan
    metal: MetalPlan | None  # None: no machines from power-off, or no seed to install them
    ceph: CephPlan | None  # None: no Ceph, or only an external storage class
    proxy: ProxyPlan | None  # None: as the environment of each machine says
    findings: tuple[Finding, ...]
    resources: tuple[ResourcePlan, ...] = ()  # of `cloud:`
    backups: BackupPlan = field(default_factory=BackupPlan)
    backup_directory: str | None = None  # on the controller, for sets of backups; None: in the state directory
    monitoring: MonitoringPlan | None = None  # None: the site has none
