"""Purposes of networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...module_utils._plan.container import Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class PurposeRecord:
    """What follows from a network's purpose."""

    carries: str
    interface: str  # prefix of interface names on hosts: "mgmt" in "mgmt0"
    colour: str  # in the topology picture
    routed: bool = False  # whether it has a router by default
    addressed: bool = True  # whether hosts have an address on it
    reads: bool = False  # whether the seed serves hosts that connect from it
    cidr: Mapping[str, str] = field(default_factory=dict)  # profile -> network of a site that writes none
    layer: str | None = None  # first layer that uses it; None: all do
    ignored: str | None = None  # for a purpose that this version does not use: what happens instead


PURPOSES: dict[Purpose, PurposeRecord] = {
    "management": PurposeRecord(
        carries="management and the API",
        interface="mgmt",
        colour="#1f5fa8",
        routed=True,
        reads=True,
        cidr={"lab": "10.90.0.0/24"},
    ),
    "tunnel": PurposeRecord(
        carries="tenants' tunnels", interface="tnl", colour="#6b4fa0", layer="hypervisor", cidr={"lab": "10.90.1.0/24"}
    ),
    "storage": PurposeRecord(
        carries="storage traffic", interface="stor", colour="#2e7d4f", layer="storage", cidr={"lab": "10.90.2.0/24"}
    ),
    "provisioning": PurposeRecord(
        carries="boots from the network",
        interface="prov",
        colour="#9a6a3a",
        layer="ironic",
        routed=True,
        reads=True,
        cidr={"lab": "10.90.3.0/24"},
    ),
    # For management controllers, not for hosts.
    "oob": PurposeRecord(
        carries="management controllers",
        interface="oob",
        colour="#6d7580",
        layer="ironic",
        routed=True,
        cidr={"lab": "10.90.4.0/24"},
    ),
    "provider": PurposeRecord(
        carries="external traffic",
        interface="ext",
        colour="#b8323a",
        layer="hypervisor",
        routed=True,
        addressed=False,
        cidr={"lab": "10.90.128.0/24"},
    ),
    "cluster": PurposeRecord(
        carries="pods' packets",
        interface="clus",
        colour="#0f8b8d",
        reads=True,
        ignored="pods' packets cross the management network, and their MTU is that network's",
    ),
    # Strangers ask here: control hosts answer at their virtual IP alone, and drop everything else.
    "public": PurposeRecord(
        carries="users' requests", interface="pub", colour="#8c4a7a", routed=True, layer="kubernetes"
    ),
}
