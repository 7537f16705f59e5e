"""Types of the plan's parts that know no other part: see `types.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

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
class NetbootPlan:
    """How machines boot from the network."""

    programs: str  # file of dnsmasq and iPXE, below files_url
    cidr: str  # of the network
    gateway: str | None
    address: str  # of the seed there
    seed_address: str  # of the seed where ramdisks call it
    port: int
    url: str
    pool: tuple[str, str] | None  # first and last address for machines that nobody knows; None: they get no answer


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
