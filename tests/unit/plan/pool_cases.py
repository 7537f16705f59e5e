"""Mistakes in addresses that are lent, each with the finding it is."""

from __future__ import annotations

from typing import Any

POOL, OWN, LENT = "networks/provider/pool", "networks.provider.pool", "networks/provisioning/pool"
SUBNETS = "ovn.subnet_pool"

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("pool-of-the-whole-network", "warning", "region", {POOL: None}, OWN),
    (
        "proxy-in-pool",
        "error",
        "region",
        {POOL: "198.51.100.50-198.51.100.99", "proxy": {"http": "http://198.51.100.60:3128"}},
        "proxy.http",
    ),
    ("pool-without-use", "error", "region", {"networks/oob/pool": "10.96.16.9-10.96.16.20"}, "networks.oob.pool"),
    ("range-outside-network", "error", "region", {POOL: "198.51.101.9-198.51.101.99"}, OWN),
    ("range-outside-network", "error", "region", {POOL: "198.51.100.9-198.51.100.255"}, OWN),
    ("range-outside-network", "error", "region", {POOL: ["198.51.100.9-198.51.100.20", "10.0.0.9-10.0.0.20"]}, OWN),
    ("pool-overlaps", "error", "region", {POOL: ["198.51.100.50-198.51.100.99", "198.51.100.9-198.51.100.50"]}, OWN),
    ("pool-has-planned-addresses", "error", "region", {POOL: "198.51.100.1-198.51.100.99"}, OWN),
    ("default-without-use", "error", "region", {"networks/oob/default": True}, "networks.oob.default"),
    (
        "several-defaults",
        "error",
        "region",
        {
            "networks/provider/default": True,
            "networks/second": {"cidr": "203.0.113.0/24", "purpose": "provider", "vlan": 99, "default": True},
        },
        "networks.second.default",
    ),
    (
        "pool-of-many-ranges",
        "error",
        "region",
        {LENT: ["10.96.7.60-10.96.7.100", "10.96.7.110-10.96.7.120"]},
        "networks.provisioning.pool",
    ),
    ("cidr-overlap", "error", "region", {"ovn/subnet_pool": {"cidr": "198.51.0.0/16"}}, "ovn.subnet_pool.cidr"),
    ("network-on-loopback", "error", "region", {"ovn/subnet_pool": {"cidr": "127.64.0.0/16"}}, "ovn.subnet_pool.cidr"),
    ("subnet-pool-without-default", "warning", "cloud", {"networks/provider/default": None}, SUBNETS),
    ("subnet-pool-without-neutron", "error", "lab", {"ovn/subnet_pool": {"cidr": "10.128.0.0/16"}}, SUBNETS),
    (
        "subnet-larger-than-pool",
        "error",
        "region",
        {"ovn/subnet_pool": {"cidr": "10.128.0.0/24", "prefix": 20}},
        "ovn.subnet_pool.prefix",
    ),
]
