"""What a plan says: the contract between the site file and everything that carries it out.

Plain frozen dataclasses of JSON-friendly values (strings for addresses), so that roles, charts, the rollout engine and
the seed read the same words. Nothing here computes; `compile.py` fills it in. A role reads only what is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..layers.enough import Enough
from ..layers.provisioners import Approve, Provisioner
from ..layers.purposes import Purpose
from ..layers.roles import Role
from ..layers.storage import Volumes
from .part_types import CephClient, CephPlan, LinkPlan, MetalPlan, PreflightPlan

Severity = Literal["error", "warning", "info"]
CniName = Literal["flannel", "cilium", "calico"]
EdgeKind = Literal["haproxy", "gateway-api"]
FailureDomain = Literal["osd", "host", "rack", "room"]
SupplySource = Literal["build", "registry", "upstream"]
PackageSource = Literal["seed", "mirror", "host"]
DebianRelease = Literal["12", "13"]
TenantNetwork = Literal["geneve", "vlan", "flat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing the plan noticed. ``error`` stops every layer, ``warning`` and ``info`` are shown."""

    name: str  # stable, kebab-case: "cidr-overlap"
    severity: Severity
    where: tuple[str, ...]  # key paths in the site file: "networks.storage.vlan"
    what: str  # the fault, with the values at fault
    why: str  # why it matters
    remedy: str  # what to write instead


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """One plane of the site."""

    name: str
    purpose: Purpose
    cidr: str
    gateway: str | None
    vlan: int | None  # None: untagged
    mtu: int  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfacePlan:
    """A host's way onto one network."""

    name: str  # "mgmt0", on a host that is made for the site; an existing one's has its own name
    network: str
    address: str | None  # None: no address of its own (a provider bridge)
    prefix: int
    mtu: int
    mac: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlan:
    """One machine."""

    name: str  # short, also the Kubernetes node name: "control-1"
    fqdn: str
    group: str  # of machines, in the site file
    roles: tuple[Role, ...]
    rack: str
    hardware: str  # hardware profile
    provisioner: Provisioner
    address: str  # on the management network: ssh, kubelet, etcd
    interfaces: tuple[InterfacePlan, ...]
    links: tuple[LinkPlan, ...]  # none: the site leaves its network alone
    bmc: dict[str, Any] | None
    serial: str | None
    system_disk: dict[str, Any] | None  # what the disk for its system is; None: the smallest one that is large enough
    host_key: str | None  # public key of its sshd, where the site file vouches for it
    node_labels: dict[str, str] = field(default_factory=dict)  # Kubernetes labels; empty: not a Kubernetes node
    node_taints: tuple[str, ...] = ()
    zone: str | None = None  # of a hypervisor: its availability zone; None: Nova's own
    place_labels: dict[str, str] = field(default_factory=dict)  # of a hypervisor: rack, room and its group's labels
    # Its roles' own, beside `HostSettings`.
    packages: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by the layer that installs them
    sysctl: dict[str, str] = field(default_factory=dict)
    kernel_modules: tuple[str, ...] = ()
    neighbours: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by network: whom preflight sends packets
    approve: Approve = "ask"  # a discovered machine that fits it
    # The seed, on its network provisioning, where the site file names nobody; else empty: those of `HostSettings`.
    ntp_servers: tuple[str, ...] = ()
    dns_servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlan:
    """Who may log in to the hosts, and how the controller does."""

    user: str  # the account the controller uses; it may become root
    authorized_keys: tuple[str, ...]  # further public keys, beside the site's own
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """What every host gets, whatever its role."""

    timezone: str
    ntp_servers: tuple[str, ...]
    dns_servers: tuple[str, ...]
    names: dict[str, str]  # name -> address, for names every host must resolve (VIP names, registry, seed)
    sysctl: dict[str, str]  # by name; `*` stands for every interface
    kernel_modules: tuple[str, ...]
    packages: PackageSource  # where hosts take packages of the OS from
    debian_releases: tuple[DebianRelease, ...]  # those whose packages the seed serves; none: it serves no packages
    packages_url: str | None  # the only apt repository; None: the host's own sources stay as they are
    packages_suites: tuple[str, ...]  # none: the host's release
    packages_components: tuple[str, ...]
    packages_key: str | None  # armored; None: Debian's own
    packages_ca: str | None  # PEM; trusted for packages_url alone; None: the host's trust store
    hardening: bool
    disabled_units: tuple[str, ...]
    blocked_modules: tuple[str, ...]
    volumes: tuple[str, ...]  # directories that hold overlays or much data


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplyPlan:
    """Where artifacts come from and where the site serves them."""

    source: SupplySource
    registry: str  # "registry.lab.test:5000": every image reference starts with it
    registry_inside: str  # "127.0.0.1:5001": where the seed itself reaches its registry, and images are put in
    registry_tls: bool  # whether it is spoken to by HTTPS; the seed's always is
    files_url: str  # "https://registry.lab.test:8080": binaries and archives, by <artifact>/<version>/<file>
    files_root: str  # "/srv/groundup": the same on the seed
    seed: str | None  # the host that serves both; None: an existing registry is used
    readers: tuple[str, ...]  # networks the seed serves; others are refused
    ca: str | None  # PEM; signed an existing registry and file tree, and is trusted for these alone
    packages: dict[DebianRelease, str]  # where the seed's package repositories are below files_url: "packages-13/13"
    images: dict[str, str]  # logical image name of the lock -> full reference
    chosen: tuple[str, ...] = ()  # artifacts and groups of the lock that only sites of such a choice need


@dataclass(frozen=True, slots=True, kw_only=True)
class CniPlan:
    """The pod network."""

    name: CniName
    mtu: int  # of the pod interface, encapsulation already subtracted
    overhead: int  # bytes of the encapsulation
    backend: str  # vxlan | geneve | host-gw
    port: int | None  # UDP port of the tunnel; None: no tunnel
    images: tuple[str, ...]  # names of those a node runs before it is Ready
    charts: str | None  # the lock's artifact with its charts; None: it is installed without one
    releases: tuple[ReleasePlan, ...]  # in this order


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesPlan:
    """One cluster: the infrastructure's own."""

    version: str  # "1.36.3"
    endpoint_name: str  # "kubernetes.<domain>"
    endpoint_address: str  # the VIP, or the only control host
    endpoint_port: int  # 6443
    # Where each control host's own API server listens (kubeadm: localAPIEndpoint.bindPort). Not endpoint_port: HAProxy
    # holds that on the VIP of the same hosts, and a server on every address of a host would refuse to share it.
    api_port: int
    pod_cidr: str
    service_cidr: str
    dns_domain: str
    dns_address: str
    cni: CniPlan
    first_control: str  # the host that initialises the cluster; any other control host joins
    etcd_members: int
    storage_class: str  # "general"
    storage_backend: Volumes
    audit: bool
    encrypt_secrets: bool
    kubelet: dict[str, Any]  # KubeletConfiguration fields the site sets
    ignore_preflight: tuple[str, ...]  # kubeadm preflight checks the hardware profile cannot satisfy
    image_repository: str  # "registry.lab.test:5000/kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPlan:
    """A public API of the site: a name on the VIP, TLS, and the port the cluster serves it on."""

    service: str  # "keystone"
    type: str  # catalog type: "identity"
    name: str  # "identity.lab.test"
    url: str  # "https://identity.lab.test/v3"
    node_port: int  # 0: `servers` serve it
    health_path: str  # what the edge asks: "/v3/"
    in_catalog: bool = True
    servers: dict[str, str] = field(default_factory=dict)  # host -> address and port, with TLS; {}: the cluster does


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePlan:
    """The virtual IP and what listens on it."""

    kind: EdgeKind
    address: str
    network: str
    prefix: int
    router_id: int  # VRRP, 1-255, unique on the network
    hosts: tuple[str, ...]  # hosts that may hold the address, in order of preference
    endpoints: tuple[EndpointPlan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """One Helm release of the graph."""

    name: str
    chart: str
    version: str  # chart version
    namespace: str
    needs: tuple[str, ...]  # releases that must verify first
    verify: str  # the service whose record says how; "workloads": that they run is enough
    values: dict[str, Any]  # leaves {"$secret": "name"} are resolved from the secrets store just before rendering
    slowness: float = 1.0  # factor on the seconds a release may take to start


@dataclass(frozen=True, slots=True, kw_only=True)
class OvnPlan:
    """The network of the tenants."""

    tenant_network: TenantNetwork
    tunnel_ids: str  # geneve: "first-last"
    vlan_range: str | None  # vlan: "first-last"
    max_header_size: int  # bytes of a Geneve header with OVN's options
    tenant_mtu: int
    distributed_floating_ip: bool
    bridge_mappings: dict[str, str]  # physical network -> provider network
    northbound: tuple[str, ...]  # OVN's databases, one address a control host: "ssl:10.0.0.11:6641"
    southbound: tuple[str, ...]  # for northd and Neutron: the listener without a role
    path_mtu: int  # of the network tenants' tunnels cross hosts on
    physical_mtus: dict[str, int]  # physical network -> MTU
    election_timer: int  # milliseconds without a word of the leader before members choose another
    inactivity_probe: int  # milliseconds of silence before the databases ask whether a client is still there


@dataclass(frozen=True, slots=True, kw_only=True)
class HypervisorPlan:
    """What every hypervisor is told."""

    southbound: tuple[str, ...]  # members of OVN's southbound database: "ssl:10.90.0.11:6642"
    compute: dict[str, dict[str, Any]]  # by hardware profile, those of hypervisors: fields of `Compute`
    environments: dict[DebianRelease, str]  # file with the Python environment, below files_url
    volumes: CephClient | None  # whose key opens Cinder's volumes: Cinder tells Nova so; None: there are none
    disks: CephClient | None  # whose key opens disks of instances in Ceph; None: no hardware has them there


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStackPlan:
    """The cloud on top."""

    release: str  # "2026.1"
    region: str
    namespace: str
    services: tuple[str, ...]
    charts: str  # builtin, a directory, a Helm repository URL or oci:// reference
    releases: tuple[ReleasePlan, ...]
    images: tuple[str, ...]  # names of the images its pods run, in the order releases need them
    cpu_share: float  # cores of the smallest node it runs on, of those of the profile's control host; at most 1
    replicas: dict[str, int] = field(default_factory=dict)  # as written: members or pods by service, pods of each `api`
    workers: dict[str, int] = field(default_factory=dict)  # as written: processes of a pod, by service
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)  # by release: values merged over the plan's


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything decided before a machine is touched."""

    site: str
    domain: str
    profile: str
    networks: dict[str, NetworkPlan]
    hosts: dict[str, HostPlan]
    max_unavailable: dict[str, int]  # by group of machines: how many a run may go on without
    enough: dict[str, Enough]  # of groups whose machines are not all waited for
    access: AccessPlan
    host: HostSettings
    preflight: PreflightPlan
    supply: SupplyPlan
    kubernetes: KubernetesPlan
    edge: EdgePlan
    ovn: OvnPlan
    openstack: OpenStackPlan
    hypervisor: HypervisorPlan
    metal: MetalPlan | None  # None: the site has no machines from power-off, or no seed to install them
    ceph: CephPlan | None  # None: nothing of Ceph is this site's
    findings: tuple[Finding, ...]
