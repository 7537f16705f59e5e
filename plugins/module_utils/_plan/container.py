"""Networks of the site, and how a host is connected to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Purpose = Literal["management", "tunnel", "storage", "provisioning", "oob", "provider", "cluster", "public"]


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
    default: bool | None = None  # provider: whether it is Neutron's default external network; None: left as it is


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
class WiredHost:
    """Names and interfaces of a host: the fields of `HostPlan` that a system container is made from."""

    name: str  # short, also the Kubernetes node name: "control-1"
    fqdn: str
    address: str  # on the management network: ssh, kubelet, etcd
    interfaces: tuple[InterfacePlan, ...]
    roles: tuple[str, ...] = ()
