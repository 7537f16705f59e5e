"""What hosts get for a role: packages of the OS, kernel settings, and directories that hold much.

Hosts of the lab come with all of these packages: the root file system `rootfs-host` of supply.lock holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .roles import ROLES, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSet:
    """What one layer puts on the hosts of some roles."""

    layer: str  # the layer that installs the packages
    roles: frozenset[Role] = frozenset()
    nodes: bool = False  # for every node of the cluster
    packages: tuple[str, ...] = ()
    sysctl: Mapping[str, str] = field(default_factory=dict)
    kernel_modules: tuple[str, ...] = ()  # for hosts with a kernel of their own
    volumes: tuple[str, ...] = ()  # hold overlays or much data: a lab host keeps them beside its root file system


PACKAGE_SETS: dict[str, PackageSet] = {
    "base": PackageSet(layer="host", roles=frozenset(ROLES), volumes=("/opt", "/var/log")),
    "seed": PackageSet(
        layer="seed",
        roles=frozenset(("seed",)),
        packages=("docker-registry", "nginx-light"),
        volumes=("/srv", "/var/lib/docker-registry"),
    ),
    "edge": PackageSet(layer="kubernetes", roles=frozenset(("control",)), packages=("haproxy", "keepalived")),
    "etcd": PackageSet(layer="kubernetes", roles=frozenset(("control",)), volumes=("/var/lib/etcd",)),
    "node": PackageSet(
        layer="host",
        nodes=True,
        packages=(
            "conntrack",
            "containerd",
            "containernetworking-plugins",
            "ethtool",
            "iproute2",
            "iptables",
            "runc",
            "socat",
        ),
        volumes=("/var/lib/containerd", "/var/lib/kubelet"),
    ),
}


def sets_of(roles: tuple[Role, ...], *, node: bool) -> tuple[PackageSet, ...]:
    """Return what a machine with ``roles`` gets; ``node``: it is a node of the cluster."""
    return tuple(one for one in PACKAGE_SETS.values() if (one.nodes and node) or not one.roles.isdisjoint(roles))
