"""Types of the plan: the contract between the site file and everything that carries it out.

Plain frozen dataclasses of JSON-friendly values (addresses are strings), read by roles, charts, the rollout engine and
the seed. Nothing is computed here: `compile.py` fills them in. A role reads nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..layers.enough import SuccessCriteria
from ..layers.provisioners import Approve, Provisioner
from ..layers.purposes import Purpose
from ..layers.roles import Role
from ..layers.scales import Scale
from ..layers.storage import Volumes
from .part_types import AccessPlan, CephClient, CephPlan, LinkPlan, MetalPlan, PreflightPlan

Severity = Literal["error", "warning", "info"]
CniName = Literal["flannel", "cilium", "calico"]
EdgeKind = Literal["haproxy", "gateway-api"]
FailureDomain = Literal["osd", "host", "rack", "room"]
SupplySource = Literal["build", "registry", "upstream"]
CacheSource = Literal["build", "upstream"]
PackageSource = Literal["seed", "mirror", "host"]
Updates = Literal["site", "debian"]
DebianRelease = Literal["12", "13"]
TenantNetwork = Literal["geneve", "vlan", "flat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. ``error`` stops every layer; ``warning`` and ``info`` are shown."""

    name: str  # stable, kebab-case: "cidr-overlap"
    severity: Severity
    where: tuple[str, ...]  # key paths in the site file: "networks.storage.vlan"
    what: str  # the fault, with the values at fault
    why: str  # why it matters
    remedy: str  # what to write instead


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """One network of the site."""

    name: str
    purpose: Purpose
    cidr: str
    gateway: str | None
    vlan: int | None  # None: untagged
    mtu: int  # bytes
    pools: tuple[tuple[str, str], ...] = ()  # first and last address of what is lent; (): the default of its purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfacePlan:
    """A host's interface on one network."""

    name: str  # "mgmt0" on a host made for the site; an existing host keeps its own name
    network: str
    address: str | None  # None: a provider bridge, without an address
    prefix: int
    mtu: int
    mac: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlan:
    """One machine."""

    name: str  # short, also the Kubernetes node name: "control-1"
    fqdn: str
    group: str  # group of machines in the site file
    roles: tuple[Role, ...]
    rack: str
    hardware: str  # hardware profile
    provisioner: Provisioner
    address: str  # on the management network: ssh, kubelet, etcd
    interfaces: tuple[InterfacePlan, ...]
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
    updates: Updates  # who changes installed packages
    hardening: bool
    disabled_units: tuple[str, ...]
    blocked_modules: tuple[str, ...]
    volumes: tuple[str, ...]  # directories for overlays or much data


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplyPlan:
    """Where artifacts come from, and where the site serves them."""

    source: SupplySource
    cache_source: CacheSource  # of charts, chosen artifacts and what the seed serves, with a registry too
    registry: str  # "registry.lab.test:5000": every image reference starts with it
    registry_inside: str  # "127.0.0.1:5001": the registry itself, on the seed; images are pushed here
    registry_tls: bool  # whether the registry speaks HTTPS; the seed's always does
    files_url: str  # "https://registry.lab.test:8080": binaries and archives, by <artifact>/<version>/<file>
    files_root: str  # "/srv/groundup": the directory of the same tree on the seed
    seed: str | None  # host that serves both; None: an existing registry is used
    readers: tuple[str, ...]  # networks the seed serves; requests from others are refused
    ca: str | None  # PEM: CA of an existing registry and file tree, trusted for these only
    packages: dict[DebianRelease, str]  # path of the seed's repository below files_url: "packages-13/13"
    images: dict[str, str]  # logical image name of the lock -> full reference
    chosen: tuple[str, ...] = ()  # artifacts and groups of supply.lock that only some sites need, and this one does


@dataclass(frozen=True, slots=True, kw_only=True)
class CniPlan:
    """The pod network."""

    name: CniName
    mtu: int  # of the pod's interface, encapsulation already subtracted
    overhead: int  # bytes of the encapsulation
    backend: str  # vxlan | geneve | host-gw
    port: int | None  # UDP port of the tunnel; None: no tunnel
    images: tuple[str, ...]  # images that a node runs before it is Ready
    charts: str | None  # artifact of supply.lock with its charts; None: installed without a chart
    releases: tuple[ReleasePlan, ...]  # in this order


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesPlan:
    """The infrastructure's own Kubernetes cluster."""

    version: str  # "1.36.3"
    endpoint_name: str  # "kubernetes.<domain>"
    endpoint_address: str  # the VIP, or the only control host
    endpoint_port: int  # 6443
    api_port: int  # of each control host's own API server: HAProxy holds endpoint_port on the VIP of the same hosts
    pod_cidr: str
    service_cidr: str
    dns_domain: str
    dns_address: str
    cni: CniPlan
    first_control: str  # runs kubeadm init; other control hosts join
    etcd_members: int
    storage_class: str  # "general"
    storage_backend: Volumes
    storage_charts: str | None  # artifact of supply.lock with the class's driver; None: the class has none by chart
    storage_releases: tuple[ReleasePlan, ...]  # of the driver; the layer `storage` installs them
    audit: bool
    encrypt_secrets: bool
    kubelet: dict[str, Any]  # KubeletConfiguration fields that the site sets
    ignore_preflight: tuple[str, ...]  # kubeadm preflight checks that the hardware profile cannot satisfy
    image_repository: str  # "registry.lab.test:5000/kubernetes"
    control_addresses: tuple[str, ...]  # of all control hosts, which alone may reach `edge_ports`
    edge_ports: tuple[int, ...]  # node ports behind the public names


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """One Helm release of the release graph."""

    name: str
    chart: str
    version: str  # chart version
    namespace: str
    needs: tuple[str, ...]  # releases that must verify first
    verify: str  # the service whose record verifies it; "workloads": its workloads must run
    values: dict[str, Any]  # leaves {"$secret": "name"} are resolved from the secrets store just before rendering
    slowness: float = 1.0  # factor on the time allowed for its start


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HypervisorPlan:
    """Settings of every hypervisor."""

    southbound: tuple[str, ...]  # members of OVN's southbound database: "ssl:10.90.0.11:6642"
    compute: dict[str, dict[str, Any]]  # fields of `Compute`, by hardware profile of hypervisors
    environments: dict[DebianRelease, str]  # file with the Python environment, below files_url
    volumes: CephClient | None  # key for Cinder's volumes; Cinder passes it to Nova. None: no volumes in Ceph
    disks: CephClient | None  # key for instances' disks in Ceph; None: no hardware profile has them there
    programs: dict[str, str]  # path of what services call at run time -> what fails without it


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
    replicas: dict[str, int] = field(default_factory=dict)  # as written: members or pods by service, pods of each `api`
    workers: dict[str, int] = field(default_factory=dict)  # as written: processes per pod, by service
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)  # release -> values merged over the plan's


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
    hypervisor: HypervisorPlan
    metal: MetalPlan | None  # None: no machines from power-off, or no seed to install them
    ceph: CephPlan | None  # None: no Ceph, or only an external storage class
    findings: tuple[Finding, ...]
