"""What runs on the machines, as the site file writes it: from access to the hosts up to the tenants' network."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from ..types import CniName, DebianRelease, EdgeKind, PackageSource, SupplySource, TenantNetwork
from .base import Address, Cidr, Domain, IdRange, Model, Mtu, Name, Plain, Text, Version


def _with_port(value: str) -> str:
    """Return ``value``, a URL or host:port, when the port it names is one; ValueError otherwise."""
    try:
        port = urlsplit(address := value if "://" in value else f"//{value}").port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("has no TCP port there: write one from 1 to 65535")
    if "@" in urlsplit(address).netloc:
        raise ValueError("names a user: the plan is no secret, so write the address alone")
    return value


Reference = Annotated[str, Field(max_length=512, pattern=r"^[!-~]+$")]  # a URL, a path or an image: no blanks
HostPort = Annotated[
    str,
    Field(
        max_length=261,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[0-9]{1,5}$",
        json_schema_extra={"examples": ["images.example.org:443"]},
    ),
    AfterValidator(_with_port),
]
Url = Annotated[str, Field(max_length=512, pattern=r"^https?://[!-~]+[^/]$"), AfterValidator(_with_port)]
# What becomes a word of a file on every host: nothing that ends a line or leaves a directory.
Zone = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$")]
Server = Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9][A-Za-z0-9.:-]*$")]
KernelModule = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
HostKey = Annotated[
    str,
    Field(
        max_length=4096,
        pattern=r"^(ssh-[a-z0-9-]+|ecdsa-sha2-nistp[0-9]+) [A-Za-z0-9+/]+={0,2}$",
        json_schema_extra={"examples": ["ssh-ed25519 AAAA..."]},
    ),
]

Armored = Annotated[
    str,
    Field(
        max_length=65536,
        pattern=r"^-----BEGIN PGP PUBLIC KEY BLOCK-----\n[\n -~]+\n-----END PGP PUBLIC KEY BLOCK-----\n?$",
    ),
]
Certificate = Annotated[
    str,
    Field(
        max_length=65536,
        pattern=r"^(-----BEGIN CERTIFICATE-----\n([A-Za-z0-9+/=]+\n)+-----END CERTIFICATE-----\n?)+$",
    ),
]


class Access(Model):
    """Who may log in to the hosts, and how the controller does."""

    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")] = Field(
        "root", description="Account the controller uses; it may become root."
    )
    authorized_keys: list[Text] = Field(
        default_factory=list, description="Further public ssh keys, beside the site's own."
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(22, description="TCP port of sshd.")
    host_keys: dict[Name, HostKey] = Field(
        default_factory=dict,
        description="Public key of sshd (type and key) of each machine that is installed already, by its name. "
        "Others' keys are learnt where the machine is made.",
    )


class Hosts(Model):
    """What every host gets, whatever its role."""

    timezone: Zone = Field("Etc/UTC", description="Time zone name.")
    ntp_servers: list[Server] = Field(default_factory=list, description="Time servers. Default: those of the profile.")
    dns_servers: list[Address] = Field(default_factory=list, description="Resolvers. Default: the host keeps its own.")
    sysctl: dict[str, Text | int | None] = Field(
        default_factory=dict,
        description="Kernel parameters, added to those of the profile and of hardening; null takes one of these back.",
    )
    kernel_modules: list[KernelModule] | None = Field(
        None, description="Kernel modules loaded at boot. Default: those of the profile."
    )
    packages: PackageSource | None = Field(
        None,
        description="Where hosts take packages of the OS from. seed: what the layers install, served by the seed; "
        "mirror: packages_url alone; host: the host's own apt sources. Default: mirror where packages_url is written, "
        "else seed, and host on a site without one.",
    )
    debian_releases: list[DebianRelease] = Field(
        default=["13"],
        min_length=1,
        description="seed: Debian releases of the hosts. The seed serves packages of each.",
    )
    packages_url: Reference | None = Field(
        None, description="mirror: URL of the apt repository. Hosts then have no other."
    )
    packages_suites: list[Text] = Field(
        default_factory=list,
        description="Suites of packages_url, such as trixie, trixie-security. Default: the host's release alone.",
    )
    packages_components: list[Text] = Field(default=["main"], description="Components of packages_url.")
    packages_key: Armored | None = Field(
        None, description="OpenPGP public key packages_url is signed with, armored. Default: Debian's own keys."
    )
    packages_ca: Certificate | None = Field(
        None,
        description="Certificate (PEM) of the CA that packages_url's server has its own from, trusted for it alone. "
        "Default: the host's trust store.",
    )
    hardening: bool = Field(True, description="Whether hosts get the rules of the host guide, section Hardening.")
    disabled_units: list[Text] | None = Field(
        None, description="systemd units no host runs. Default, with hardening: those of the host guide."
    )
    blocked_modules: list[Text] | None = Field(
        None, description="Kernel modules never loaded. Default, with hardening: those of the host guide."
    )


class Seed(Model):
    """What the seed does beside serving files."""

    runner: list[Literal["host"]] = Field(
        default_factory=list,
        max_length=1,
        description="Layers that the seed itself runs on each machine that Ironic installs, as soon as it has called "
        "home: no controller is needed for it. The seed then has a key of its own to these machines. Default: none.",
    )


class Edge(Model):
    """The virtual IP and what listens on it."""

    kind: EdgeKind = Field("haproxy", description="haproxy on the control hosts, or a Gateway in the cluster.")
    address: Address | None = Field(
        None, description="The virtual IP. Default: the second address of the management network."
    )
    router_id: Annotated[int, Field(ge=1, le=255)] | None = Field(
        None, description="VRRP router id, unique on the network. Default: the last byte of the virtual IP."
    )


# Of network cards and storage controllers of servers; Debian has `firmware-` before each.
Firmware = Literal["bnx2", "bnx2x", "cavium", "intel-misc", "misc-nonfree", "myricom", "netronome", "netxen", "qlogic"]


class Supply(Model):
    """Where artifacts come from and where the site serves them."""

    source: SupplySource = Field(
        "build",
        description="build: from packages; registry: an existing one; upstream: URLs and digests of the lock.",
    )
    registry: HostPort | None = Field(
        None, description="host:port of an OCI registry of the site's own. Default: registry.<domain>:5000 on the seed."
    )
    registry_tls: bool = Field(
        True,
        description="Whether `registry` speaks TLS, with a certificate of `ca` or one the hosts trust.",
    )
    files_url: Url | None = Field(
        None,
        description="URL of the file tree, by <artifact>/<version>/<file>. "
        "Default: https://registry.<domain>:8080 on the seed; needed beside `registry`.",
    )
    ca: Certificate | None = Field(
        None,
        description="Certificate (PEM) of the CA that the servers of `registry` and files_url have theirs from, "
        "trusted for these alone. Default: the host's trust store.",
    )
    images: dict[str, Reference] = Field(
        default_factory=dict, description="References of single images, in place of the matrix'."
    )
    firmware: list[Firmware] = Field(
        default_factory=list,
        description="Packages of Debian's non-free-firmware, without `firmware-`, in the ramdisk and the system of "
        "machines from power-off. Default: none.",
    )


class Cluster(Model):
    """The infrastructure's own Kubernetes cluster. Tenants have clusters of their own."""

    version: Version = Field(
        "1.36.3", description="Kubernetes version; etcd, CoreDNS and pause follow from the version matrix."
    )
    cni: CniName | None = Field(None, description="Pod network. Default: the profile's.")
    cni_backend: Literal["vxlan", "geneve", "host-gw"] = Field(
        "vxlan",
        description="How pods' packets cross hosts: in a tunnel (geneve: cilium only), or by plain routes (host-gw: "
        "all nodes on one network; calico tells them by BGP).",
    )
    pod_cidr: Cidr = Field("10.233.64.0/18", description="Addresses of pods.")
    service_cidr: Cidr = Field("10.233.0.0/18", description="Addresses of Services.")
    dns_domain: Domain = Field("cluster.local", description="DNS domain of Services.")
    audit: bool = Field(True, description="Whether the API server keeps an audit log.")
    encrypt_secrets: bool = Field(True, description="Whether Secrets are encrypted at rest.")
    kubelet: Plain = Field(default_factory=dict, description="KubeletConfiguration fields, over those of the profile.")
    ignore_preflight: list[Text] | None = Field(
        None, description="kubeadm preflight checks to pass over. Default: those of the profile."
    )
    serves: Literal["infrastructure", "tenants"] = Field("infrastructure", description="Whom the cluster is for.")


class Ovn(Model):
    """The network of the tenants."""

    tenant_network: TenantNetwork = Field("geneve", description="How tenants' networks cross hosts.")
    tunnel_ids: IdRange = Field(
        "1-65536",
        description="geneve: range of tunnel ids (VNI), one a tenants' network. Neutron's database has a row for each.",
    )
    vlan_range: IdRange | None = Field(None, description="vlan: range of VLAN ids for tenants' networks.")
    max_header_size: Annotated[int, Field(ge=30, le=60)] = Field(
        38, description="Bytes of a Geneve header with OVN's options."
    )
    tenant_mtu: Mtu | None = Field(None, description="Default: tunnel MTU less its encapsulation.")
    distributed_floating_ip: bool = Field(True, description="Whether floating IPs leave from the VM's own host.")
    bridge_mappings: dict[Name, Name] = Field(
        default_factory=dict,
        description="Physical network to provider network. Default: physnet1, physnet2, ... in order.",
    )
