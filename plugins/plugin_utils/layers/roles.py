"""What a machine does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .purposes import Purpose

Role = Literal["seed", "control", "storage", "worker", "hypervisor"]

# Labels of nodes. OpenStack-Helm's charts select by the first (requirement L1).
CONTROL_LABEL = "openstack-control-plane"
RACK_LABEL = "topology.kubernetes.io/zone"
_OPENSTACK = {CONTROL_LABEL: "enabled", "openstack-storage": "enabled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRecord:
    """What follows from a machine's role."""

    share: tuple[int, int]  # of every network, in 32nds; the first 32nd is for routers and virtual addresses
    colour: str  # in the topology picture
    networks: frozenset[Purpose]  # those its machines have an interface on
    brings: tuple[Purpose, ...] = ()  # networks a site has because of it: the profile's where none is written
    hardware: Mapping[str, str]  # by profile: the hardware it has by default, and the least it must have
    named: bool = False  # whether every host knows its name without a DNS server
    node: bool = False  # whether it is a node of the cluster
    # How many of its machines a run may go on without: a share of the group, or a number; None: never one.
    max_unavailable: str | int | None = "10%"
    labels: Mapping[str, str] = field(default_factory=dict)  # of its node, unless that has the role's taint
    taint: str | None = None  # of its node, where the profile wants it and other nodes take pods


def _hardware(*, edge: str, region: str) -> dict[str, str]:
    return {"lab": "lab-container", "edge": edge, "region": region}


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
        networks=frozenset(("management", "cluster", "storage", "tunnel")),
        hardware=_hardware(edge="edge-node", region="region-control"),
        named=True,
        node=True,
        max_unavailable=None,  # etcd has one vote less, and would lose its quorum to the next fault
        labels=_OPENSTACK,
        taint="node-role.kubernetes.io/control-plane:NoSchedule",
    ),
    "storage": RoleRecord(
        share=(4, 8),
        colour="#2e7d4f",
        networks=frozenset(("management", "storage")),
        brings=("storage",),
        hardware=_hardware(edge="edge-node", region="region-storage"),
        max_unavailable=0,  # its data have one copy less; the site file may say otherwise
    ),
    "worker": RoleRecord(
        share=(8, 16),
        colour="#0f8b8d",
        networks=frozenset(("management", "cluster", "storage")),
        hardware=_hardware(edge="edge-node", region="region-control"),
        node=True,
        labels=_OPENSTACK,
    ),
    # Most of any large site. Provider networks end here only (N7): OVN's gateways are there, and a wire that strangers
    # reach has no business on a control host.
    "hypervisor": RoleRecord(
        share=(16, 32),
        colour="#6b4fa0",
        networks=frozenset(("management", "storage", "tunnel", "provider")),
        brings=("tunnel", "provider"),
        hardware=_hardware(edge="edge-node", region="region-hypervisor"),
    ),
}
