"""Mistakes in cabling and in subnets by rack, each with the finding it is."""

from __future__ import annotations

from typing import Any

MAC, OTHER, THIRD = "52:54:00:4d:00:01", "52:54:00:4d:00:02", "52:54:00:4d:00:03"
WORKER, NICS = "machines/worker", "machines/worker/machines/worker-1/nics"
STORAGE = {"cidr": "10.77.9.0/24", "mtu": 9000}
BOND = {"bonds": {"bond0": {"members": ["p1", "p2"]}}}
OTHERS = {"roles": ["hypervisor"], "count": 1, "offset": 40, "rack": "r1", "hardware": "hypervisor"}
RACKED = {"r1": {"cidr": "10.77.0.0/26"}, "r2": {"cidr": "10.77.0.64/26"}}

FUNCTIONS = {"functions": 8, "network": "provider"}
CARD = "hardware/hypervisor/sriov/ens1f0np0"

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    *(
        (
            "bond-without-network",
            "warning",
            "rack",
            {"hardware/hypervisor/wiring/networks": networks},
            "hardware.hypervisor.wiring.bonds.bond0",
        )
        for networks in ({"management": "bond1"}, {"management": "ens3"}, {"provider": "bnod0"})
    ),
    ("network-without-port", "error", "lab-metal", {"networks/storage": STORAGE}, "worker-1.ports.storage"),
    (
        "wiring-without-ports",
        "error",
        "region",
        {"machines/hypervisor/bmc/protocol": "redfish-virtual-media"},
        "hypervisor-r1-1.nics",
    ),
    (
        "wiring-unknown-network",
        "error",
        "lab-metal",
        {f"{WORKER}/wiring": {**BOND, "networks": {"managment": "bond0"}}},
        "wiring.networks.managment",
    ),
    (
        "wiring-unknown-port",
        "error",
        "lab-metal",
        {f"{WORKER}/wiring": {**BOND, "networks": {"management": "bond0"}}, NICS: {"p1": MAC}},
        "worker-1.nics",
    ),
    (
        "duplicate-mac",
        "error",
        "lab-metal",
        {f"{WORKER}/wiring": {**BOND, "networks": {"management": "bond0"}}, NICS: {"p1": MAC, "p2": MAC}},
        "worker-1",
    ),
    (
        "wiring-member-twice",
        "error",
        "lab-metal",
        {
            "networks/storage": STORAGE,
            f"{WORKER}/wiring": {
                "bonds": {"bond0": {"members": ["p1", "p2"]}, "bond1": {"members": ["p2", "p3"]}},
                "networks": {"management": "bond0", "storage": "bond1"},
            },
            NICS: {"p1": MAC, "p2": OTHER, "p3": THIRD},
        },
        "machines.worker.wiring",
    ),
    (
        "wiring-network-on-member",
        "error",
        "lab-metal",
        {
            "networks/storage": STORAGE,
            f"{WORKER}/wiring": {**BOND, "networks": {"management": "bond0", "storage": "p2"}},
            NICS: {"p1": MAC, "p2": OTHER},
        },
        "wiring.networks.storage",
    ),
    (
        "untagged-twice",
        "error",
        "lab-metal",
        {
            "networks/storage": STORAGE,
            f"{WORKER}/wiring": {**BOND, "networks": {"management": "bond0", "storage": "bond0"}},
            NICS: {"p1": MAC, "p2": OTHER},
        },
        "networks.storage.vlan",
    ),
    (
        "vlan-mtu-no-room-for-tag",
        "warning",
        "edge",
        {"networks/storage": {"cidr": "10.95.9.0/24", "vlan": 120, "mtu": 9216}},
        "networks.storage.mtu",
    ),
    (
        "vlan-range-on-shared-link",
        "error",
        "rack",
        {"networks/provider/vlan_range": "1000-1999"},
        "networks.provider.vlan_range",
    ),
    (
        "provider-tagged-twice",
        "error",
        "rack",
        {"machines/hypervisor/manage_network": True, "machines/other": OTHERS},
        "networks.provider.vlan",
    ),
    ("network-not-managed", "error", "lab", {f"{WORKER}/manage_network": True}, "worker.manage_network"),
    ("wiring-unused", "warning", "lab", {f"{WORKER}/wiring": BOND}, "machines.worker"),
    (
        "rack-without-subnet",
        "error",
        "lab-metal",
        {"networks/management/racks": {"r2": RACKED["r2"]}},
        "networks.management.racks",
    ),
    (
        "rack-subnet-unknown-rack",
        "error",
        "lab-metal",
        {"networks/management/racks": RACKED},
        "networks.management.racks.r2",
    ),
    (
        "rack-subnet-outside-plane",
        "error",
        "lab-metal",
        {"networks/management/racks": {"r1": {"cidr": "10.78.0.0/26"}}},
        "networks.management.racks.r1.cidr",
    ),
    (
        "rack-gateway-outside-subnet",
        "error",
        "lab-metal",
        {"networks/management/racks": {"r1": {"cidr": "10.77.0.0/26", "gateway": "10.77.0.65"}}},
        "networks.management.racks.r1.gateway",
    ),
    (
        "rack-subnets-overlap",
        "error",
        "lab-metal",
        {"networks/management/racks": {"r1": {"cidr": "10.77.0.0/25"}, "r2": RACKED["r2"]}},
        "networks.management.racks.r2.cidr",
    ),
    (
        "rack-subnets-with-ranges",
        "error",
        "lab-metal",
        {"networks/management/racks": RACKED, "networks/management/ranges": {"seed": "10.77.0.8-10.77.0.9"}},
        "networks.management.ranges",
    ),
    ("rack-subnets-unsupported", "error", "lab", {"networks/management/racks": RACKED}, "networks.management.racks"),
    (
        "virtual-ip-across-racks",
        "error",
        "lab-ha",
        {
            "networks/management/racks": {"r1": {"cidr": "10.91.0.0/26"}, "r2": {"cidr": "10.91.0.64/26"}},
            "machines/control": {"count": 3, "racks": ["r1", "r2"], "provisioner": "existing"},
        },
        "networks.management.racks",
    ),
    (
        "host-gw-across-racks",
        "error",
        "lab-metal",
        {"networks/management/racks": RACKED, "kubernetes/cni_backend": "host-gw"},
        "kubernetes.cni_backend",
    ),
    (
        "datapath-takes-addresses",
        "error",
        "cloud",
        {
            "machines/hypervisor/provisioner": "existing",
            "machines/hypervisor/manage_network": True,
            "machines/hypervisor/wiring": {"networks": {"management": "p1", "tunnel": "p2", "provider": "p3"}},
        },
        "compute.datapath",
    ),
    ("sriov-card-in-use", "error", "rack", {CARD: FUNCTIONS}, "hardware.hypervisor.sriov.ens1f0np0"),
    (
        "sriov-card-in-use",
        "error",
        "rack",
        {CARD: FUNCTIONS, "hardware/hypervisor/wiring": {"networks": {"management": "ens1f0np0"}}},
        "hardware.hypervisor.sriov.ens1f0np0",
    ),
    (
        "sriov-without-provider",
        "error",
        "rack",
        {"hardware/hypervisor/sriov/ens2f0np0": {"functions": 8, "network": "tunnel"}},
        "hardware.hypervisor.sriov.ens2f0np0.network",
    ),
    (
        "sriov-in-container",
        "error",
        "cloud",
        {"hardware/diskless/sriov/ens2f0np0": FUNCTIONS},
        "hardware.diskless.sriov.ens2f0np0",
    ),
]
