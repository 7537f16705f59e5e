"""Types of the plan's parts that know no other part: see `types.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
    machines_inside: int
