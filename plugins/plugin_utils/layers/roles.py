"""Roles of machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...module_utils._plan.container import Purpose

Role = Literal["seed", "control", "storage", "worker", "hypervisor"]

# Node labels. OpenStack-Helm's charts select nodes by the first.
CONTROL_LABEL = "openstack-control-plane"
RACK_LABEL = "topology.kubernetes.io/zone"
_OPENSTACK = {CONTROL_LABEL: "enabled", "openstack-storage": "enabled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRecord:
    """What follows from a machine's role."""

    share: tuple[int, int]  # range of every network, in 32nds; the first 32nd is for routers and virtual addresses
    colour: str  # in the topology picture
    networks: frozenset[Purpose]  # purposes of networks that its machines are on
    brings: tuple[Purpose, ...] = ()  # networks that a site needs for it; default: the profile's
    hardware: Mapping[str, str]  # profile -> default hardware profile, also the required minimum
    named: bool = False  # whether every host can resolve its name without a DNS server
    node: bool = False  # whether it is a node of the cluster
    # Machines that may be missing while a run goes on: a share of the group, or a number; None: always 0.
    max_unavailable: str | int | None = "10%"
    labels: Mapping[str, str] = field(default_factory=dict)  # of its node, unless that has the role's taint
    taint: str | None = None  # taint of its node, if the profile wants it and other nodes take pods


def _hardware(*, edge: str, region: str) -> dict[str, str]:
    return {"lab": "lab-container", "edge": edge, "rack": edge, "region": region}


ROLES: dict[Role, RoleRecord] = {
    "seed": RoleRecord(
        share=(1, 2),
        colour="#c98a00",
        networks=frozenset(("management", "provisioning")),
        hardware=_hardware(edge="edge-seed", region="region-seed"),
        named=True,
        max_unavailable=None,  # every host fetches from it
    ),
    "control": RoleRecord(
        share=(2, 4),
        colour="#1f5fa8",
        networks=frozenset(("management", "cluster", "storage", "tunnel", "public")),
        hardware=_hardware(edge="edge-node", region="region-control"),
        named=True,
        node=True,
        max_unavailable=None,  # without one host, the next failure costs etcd its quorum
        labels=_OPENSTACK,
        taint="node-role.kubernetes.io/control-plane:NoSchedule",
    ),
    "storage": RoleRecord(
        share=(4, 8),
        colour="#2e7d4f",
        networks=frozenset(("management", "storage")),
        brings=("storage",),
        hardware=_hardware(edge="edge-node", region="region-storage"),
        max_unavailable=0,  # without one host, its data has one copy less; the site file may allow more
    ),
    "worker": RoleRecord(
        share=(8, 16),
        colour="#0f8b8d",
        networks=frozenset(("management", "cluster", "storage")),
        hardware=_hardware(edge="edge-node", region="region-control"),
        node=True,
        labels=_OPENSTACK,
    ),
    # The largest group of most sites. Provider networks end only here: OVN's gateways are here, and a network that
    # strangers reach must not end on a control host.
    "hypervisor": RoleRecord(
        share=(16, 32),
        colour="#6b4fa0",
        networks=frozenset(("management", "storage", "tunnel", "provider")),
        brings=("tunnel", "provider"),
        hardware=_hardware(edge="edge-node", region="region-hypervisor"),
    ),
}
