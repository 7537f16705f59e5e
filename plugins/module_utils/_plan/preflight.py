"""What preflight expects of a host. Python 3.9, because nobody knows yet what the host has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from .._base.errors import OptionError


@dataclass(frozen=True)
class PreflightRoles:
    """What preflight expects of hosts with the same roles."""

    node: bool  # of the Kubernetes cluster
    listens: Mapping[str, Sequence[str]]  # port ("6443/tcp") -> programs of the site that listen there
    space: Mapping[str, int]  # directory -> GiB that layers write there
    kernel_modules: Sequence[str]  # that must be available, loaded or not
    reaches: Mapping[str, Sequence[int]]  # address -> TCP ports that must be reachable; sshd's first


@dataclass(frozen=True)
class PreflightSite:
    """What preflight expects of every host of a site."""

    systems: Sequence[Mapping[str, str]]  # the table of supported systems
    hardware_required: bool  # whether too small a machine is an error
    swap: bool  # whether kubelets start with swap on
    cgroup_v1: bool  # whether kubelets start with cgroup v1
    eviction: bool  # whether kubelets keep their default limits of free disk
    unused_networks: Sequence[str]  # no layer of this version uses them: faults there are warnings
    ranges: Mapping[str, str]  # key of the site file -> network of pods or Services
    control: Mapping[str, Sequence[str]]  # network -> addresses of control hosts, to which every host sends packets


@dataclass(frozen=True)
class Expected(PreflightSite, PreflightRoles):
    """What preflight expects of one host: option `wanted` of module preflight."""

    name: str
    site: str
    user: str  # account of the controller
    releases: Sequence[str]  # of `systems`, whose packages the site serves; empty: of all
    hardware: Mapping[str, Any]  # its hardware profile
    interfaces: Sequence[Mapping[str, Any]]  # `InterfacePlan`s that must be there already
    manages_network: bool  # whether the host layer writes its network
    ports: Sequence[str]  # names of ports that the host layer will find by them
    neighbours: Mapping[str, Sequence[str]]  # network -> addresses of hosts to which it sends packets
    virtual_ip: str  # of the site; asked by hosts that are to hold it, empty for others
    public_ip: Mapping[str, str]  # the virtual IP for users -> own address on its network, of hosts that are to hold it
    store: str | None  # identity of the secrets store; empty: the controller has no store yet; None: not compared
    controller_time: float | None  # seconds since 1970; None: not compared

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Expected:
        """Return ``plain`` as what it was on the controller. Raises OptionError for a field too many or too few."""
        if wrong := {one.name for one in fields(cls)} ^ set(plain):
            raise OptionError(f"wanted: missing or unknown: {', '.join(sorted(wrong))}")
        return cls(**plain)
