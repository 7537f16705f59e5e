"""Mistakes in a site file, each with the finding it is: networks that machines boot from."""

from __future__ import annotations

from typing import Any

LEAVES = {
    "cidr": "10.97.0.0/20",
    "vlan": 97,
    "racks": {
        rack: {"cidr": f"10.97.{number}.0/24"}
        for number, rack in enumerate(("c1", "c2", "c3", *(f"r{n}" for n in range(1, 9))))
    },
}
# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    (
        "network-boot-without-network",
        "error",
        "edge",
        {"machines/node/bmc": {"protocol": "redfish", "address": "10.1.0.77"}},
        "networks",
    ),
    (
        "network-boot-without-seed",
        "error",
        "region",
        {
            "networks/provisioning/cidr": "10.96.4.0/27",
            "networks/provisioning/ranges": {"control": "10.96.4.2-10.96.4.9"},
        },
        "networks.provisioning",
    ),
    ("system-disk-unsaid", "warning", "region", {"hardware/region-osd/system_disk": None}, "hardware.region-osd"),
    (
        "system-disk-is-an-osd",
        "error",
        "region",
        {"hardware/region-osd/system_disk": {"path": "/dev/disk/by-path/pci-0000:3b:00.0-nvme-1"}},
        "hardware.region-osd.osds",
    ),
    (
        "system-disk-is-an-osd",
        "error",
        "region",
        {
            "hardware/region-osd/system_disk": {"serial": "S4AA"},
            "hardware/region-osd/osds": [{"device": "/dev/disk/by-id/nvme-MODEL_S4AA"}],
        },
        "hardware.region-osd.osds",
    ),
    (
        "system-disk-unused",
        "warning",
        "region",
        {"machines/seed/machines": {"seed-1": {"system_disk": {"min_gb": 100}}}},
        "machines.seed.machines.seed-1.system_disk",
    ),
    (
        "pool-without-use",
        "error",
        "region",
        {"networks/storage/pool": "10.96.16.9-10.96.16.20"},
        "networks.storage.pool",
    ),
    (
        "pool-has-planned-addresses",
        "error",
        "region",
        {"networks/provisioning/pool": "10.96.4.60-10.96.4.100"},
        "networks.provisioning.pool",
    ),
    (
        "pool-with-rack-subnets",
        "error",
        "region",
        {"networks/provisioning": {**LEAVES, "pool": "10.97.0.230-10.97.0.250"}},
        "networks.provisioning.pool",
    ),
    ("dhcp-relay-needed", "info", "region", {"networks/provisioning": LEAVES}, "networks.provisioning.racks"),
    (
        "pool-too-small",
        "error",
        "region",
        {"networks/provisioning/pool": "10.96.7.250-10.96.7.252"},
        "networks.provisioning.pool",
    ),
    (
        "range-outside-network",
        "error",
        "region",
        {"networks/provisioning/pool": "10.96.9.1-10.96.9.99"},
        "networks.provisioning.pool",
    ),
    (
        "management-port-without-mac",
        "error",
        "region",
        {
            "machines/hypervisor/bmc/protocol": "redfish-virtual-media",
            "machines/hypervisor/machines": {"hypervisor-r1-1": {"mac": "52:54:00:00:00:01"}},
        },
        "hypervisor-r1-1.ports.management.mac",
    ),
    (
        "machines-without-servers",
        "warning",
        "region",
        {"hosts": {}, "machines/hypervisor/bmc/protocol": "redfish-virtual-media"},
        "hosts.dns_servers",
    ),
    ("bmc-without-address", "error", "edge", {"machines/node/bmc": {"protocol": "redfish"}}, "networks"),
    ("machine-without-number", "error", "lab", {"machines/worker": {"names": ["alice"]}}, "machines.worker"),
    ("service-network-size", "error", "lab", {"kubernetes/service_cidr": "10.233.0.0/29"}, "kubernetes.service_cidr"),
    ("service-network-size", "error", "lab", {"kubernetes/service_cidr": "11.0.0.0/11"}, "kubernetes.service_cidr"),
    ("provisioning-tagged", "warning", "region", {"networks/provisioning/vlan": 97}, "networks.provisioning.vlan"),
    (
        "discovery-needs-cabling",
        "warning",
        "region",
        {"machines/hypervisor/wiring": None},
        "machines.hypervisor.wiring",
    ),
]
