"""Platform settings in the site file: access to hosts, OS, seed, virtual IP, supply, cluster and tenants' network."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from ..layout.names import is_number
from ..types import CniName, DebianRelease, EdgeKind, PackageSource, SupplySource, Updates
from .base import Address, Cidr, Domain, Model, Name, PemFile, Plain, Source, Text, Version, checked_address, with_port
from .ssh import HostKey, LoginKey
from .zones import zone


def _without_scheme(value: Any) -> Any:
    if isinstance(value, str) and "://" in value:
        raise ValueError("is a URL: write host:port of the registry, and the path of a project after it, if it has one")
    if isinstance(value, str) and ":" not in value.partition("/")[0]:
        raise ValueError("has no TCP port: write host:port of the registry, such as images.example.org:443")
    return value


def _registry(value: str) -> str:
    """Return ``value``, host:port and maybe the path of a project. Raises ValueError."""
    place, slash, path = value.partition("/")
    with_port(place)
    if slash and not all(map(_PART.fullmatch, path.split("/"))):
        raise ValueError(
            "has a path that no image can have: write host:port/project, in lower-case letters, digits, dots, hyphens"
        )
    return value


def _server(value: str) -> str:
    """Return ``value``, the name or address of a server. Raises ValueError for an address that no host has."""
    if ":" in value:
        return value  # IPv6
    return checked_address(value, own_link=True) if is_number(value.rpartition(".")[2]) else value


Reference = Annotated[str, Field(max_length=512, pattern=r"^[!-~]+$")]  # a URL, a path or an image: no blanks
_PART = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*")  # of a repository's name (OCI distribution)
Registry = Annotated[
    str,
    BeforeValidator(_without_scheme),
    Field(
        max_length=389,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[0-9]{1,5}(/[!-~]+)?$",
        json_schema_extra={"examples": ["images.example.org:443", "images.example.org:443/cloud"]},
    ),
    AfterValidator(_registry),
]
Url = Annotated[str, Field(max_length=512, pattern=r"^https?://[!-~]+[^/]$"), AfterValidator(with_port)]
# These become words in files on every host: no line ends, no path separators that leave a directory.
Zone = Annotated[
    str, Field(max_length=64, pattern=r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"), AfterValidator(zone)
]
Server = Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9][A-Za-z0-9.:-]*$"), AfterValidator(_server)]
Parameter = Annotated[str, Field(max_length=255, pattern=r"^[a-z0-9_-]+([./][A-Za-z0-9_*./:-]+)+$")]
Unit = Annotated[
    str,
    Field(
        max_length=255,
        pattern=r"^([A-Za-z0-9:_@\\-]+|[A-Za-z0-9:_.@\\-]+\.(service|socket|timer|path|mount|automount|swap|target|slice))$",
        json_schema_extra={"examples": ["bluetooth.service"]},
    ),
    AfterValidator(lambda value: value if "." in value else f"{value}.service"),  # as systemctl reads it
]
KernelModule = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
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
    """Who may log in to the hosts, and how the control node logs in."""

    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")] = Field(
        "root", description="Account of the control node; it may become root."
    )
    authorized_keys: list[LoginKey] = Field(
        default_factory=list, description="Further public ssh keys, in addition to the site's own."
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(22, description="TCP port of sshd.")
    host_keys: dict[Name, HostKey] = Field(
        default_factory=dict,
        description="Public key of sshd (type and key) of each machine that is already installed, by its name. "
        "Keys of other machines are recorded when the machine is made.",
    )


class Hosts(Model):
    """Settings of every host, whatever its role."""

    timezone: Zone = Field("Etc/UTC", description="Time zone name.")
    ntp_servers: list[Server] = Field(default_factory=list, description="Time servers. Default: the profile's.")
    dns_servers: list[Address] = Field(default_factory=list, description="Resolvers. Default: the host's own.")
    sysctl: dict[Parameter, Text | int | None] = Field(
        default_factory=dict,
        description="Kernel parameters, added to those of the profile and of hardening; null removes one of these.",
    )
    kernel_modules: list[KernelModule] | None = Field(
        None, description="Kernel modules loaded at boot. Default: the profile's."
    )
    packages: PackageSource | None = Field(
        None,
        description="Source of OS packages. seed: the packages that layers install, served by the seed; mirror: only "
        "packages_url; host: the host's own apt sources. Default: mirror when packages_url is set, else seed, and "
        "host on a site without a seed.",
    )
    debian_releases: list[DebianRelease] = Field(
        default=["13"],
        min_length=1,
        description="seed: Debian releases of the hosts. The seed serves packages of each.",
    )
    packages_url: Reference | None = Field(
        None, description="mirror: URL of the apt repository. Hosts then use no other."
    )
    packages_suites: list[Text] = Field(
        default_factory=list,
        description="Suites of packages_url, such as trixie, trixie-security. Default: the host's release alone.",
    )
    packages_components: list[Text] = Field(default=["main"], description="Components of packages_url.")
    packages_key: Armored | None = Field(
        None, description="OpenPGP public key that signs packages_url, armored. Default: Debian's own keys."
    )
    packages_ca: Certificate | None = Field(
        None,
        description="Certificate (PEM) of the CA of packages_url's server, trusted for this server only. "
        "Default: the host's trust store.",
    )
    trusted_cas: Annotated[list[PemFile], Field(max_length=64)] = Field(
        default_factory=list,
        description="PEM files, beside the site file, with certificates of CAs that hosts, pods and the control node "
        "trust beside the site's own, such as a company's.",
    )
    updates: Updates | None = Field(
        None,
        description="Who changes installed packages. site: runs alone; debian: also unattended-upgrades, from the "
        "security suite of the host's own sources or the mirror's, without what carries the cloud, and without "
        "restarts. Default: debian where hosts install from their own sources, except in profile lab; else site.",
    )
    hardening: bool = Field(True, description="Whether hosts are hardened (host guide, section Hardening).")
    disabled_units: list[Unit] | None = Field(
        None, description="systemd units disabled on every host. Default, with hardening: those of the host guide."
    )
    blocked_modules: list[KernelModule] | None = Field(
        None, description="Kernel modules that are never loaded. Default, with hardening: those of the host guide."
    )


class Seed(Model):
    """What the seed does in addition to serving files."""

    runner: list[Literal["host"]] = Field(
        default_factory=list,
        max_length=1,
        description="Layers that the seed itself runs on each machine that Ironic installs, as soon as it has called "
        "home. This needs no control node; the seed then has its own ssh key to these machines. Default: none.",
    )


class Edge(Model):
    """The virtual IP and the endpoints on it."""

    kind: EdgeKind = Field("haproxy", description="haproxy on the control hosts, or a Gateway in the cluster.")
    address: Address | None = Field(
        None, description="The virtual IP. Default: the second address of the management network."
    )
    public: Address | None = Field(
        None,
        description="The virtual IP for users, on a network of the purpose public. Default, with such a network: its "
        "second address.",
    )
    certificate: PemFile | None = Field(
        None,
        description="PEM file, beside the site file, with the certificate of the public names, its leaf first; the key "
        "is the given secret edge/key. Default: the site's own CA issues one.",
    )
    operators: list[Source] | None = Field(
        None,
        description="Networks of operators and of the control node. Beside the site's own hosts only they reach "
        "placement.<domain>, which no user needs. Default: any network.",
    )
    router_id: Annotated[int, Field(ge=1, le=255)] | None = Field(
        None, description="VRRP router id, unique on the network. Default: the last byte of the virtual IP."
    )


# For network cards and storage controllers of servers; Debian's package names begin with `firmware-`.
Firmware = Literal["bnx2", "bnx2x", "cavium", "intel-misc", "misc-nonfree", "myricom", "netronome", "netxen", "qlogic"]


class Supply(Model):
    """Where artifacts come from, and where the site serves them."""

    source: SupplySource = Field(
        "build",
        description="build: from packages; registry: an existing one; upstream: URLs and digests of supply.lock.",
    )
    registry: Registry | None = Field(
        None,
        description="host:port of an existing OCI registry, and the path of a project in it. "
        "Default: registry.<domain>:5000 on the seed.",
    )
    registry_login: bool = Field(
        False,
        description="Whether `registry` asks nodes who they are. The login is the given secret registry/login, as "
        "user:password.",
    )
    registry_tls: bool = Field(
        True,
        description="Whether `registry` uses TLS, with a certificate of `ca` or one that the hosts trust.",
    )
    files_url: Url | None = Field(
        None,
        description="URL of the file tree, by <artifact>/<version>/<file>. "
        "Default: https://registry.<domain>:8080 on the seed; required with `registry`.",
    )
    ca: Certificate | None = Field(
        None,
        description="Certificate (PEM) of the CA of the servers of `registry` and files_url, trusted for these only. "
        "Default: the host's trust store.",
    )
    images: dict[str, Reference] = Field(
        default_factory=dict, description="References of single images, in place of the version matrix."
    )
    firmware: list[Firmware] = Field(
        default_factory=list,
        description="Packages of Debian's non-free-firmware, without `firmware-`, for the ramdisk and the OS of "
        "bare-metal machines. Default: none.",
    )


class Cluster(Model):
    """The infrastructure's own Kubernetes cluster. Tenants have their own clusters."""

    version: Version = Field(
        "1.36.3", description="Kubernetes version; etcd, CoreDNS and pause follow from the version matrix."
    )
    cni: CniName | None = Field(None, description="Pod network. Default: the profile's.")
    cni_backend: Literal["vxlan", "geneve", "host-gw"] = Field(
        "vxlan",
        description="How pods' packets cross hosts: in a tunnel (geneve: cilium only), or by plain routes (host-gw: "
        "all nodes on one network; calico announces them by BGP).",
    )
    pod_cidr: Cidr = Field("10.233.64.0/18", description="Addresses of pods.")
    service_cidr: Cidr = Field("10.233.0.0/18", description="Addresses of Services.")
    dns_domain: Domain = Field("cluster.local", description="DNS domain of Services.")
    audit: bool = Field(True, description="Whether the API server keeps an audit log.")
    encrypt_secrets: bool = Field(True, description="Whether Secrets are encrypted at rest.")
    kubelet: Plain = Field(default_factory=dict, description="KubeletConfiguration fields, over the profile's.")
    ignore_preflight: list[Text] | None = Field(
        None, description="kubeadm preflight checks to ignore. Default: the profile's."
    )
    serves: Literal["infrastructure", "tenants"] = Field("infrastructure", description="Who uses the cluster.")
