"""Mistakes in the virtual IP for users, each with the finding it is."""

from __future__ import annotations

from typing import Any

USERS: dict[str, Any] = {"networks/users": {"purpose": "public", "cidr": "192.0.2.0/24"}}
KEY = "edge.public"

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    ("public-without-network", "error", "lab", {"edge/public": "192.0.2.2"}, KEY),
    ("public-networks", "error", "lab", USERS | {"networks/u": {"purpose": "public", "cidr": "198.51.100.0/24"}},
     "networks.u.purpose"),
    ("public-without-haproxy", "error", "lab", USERS | {"edge/kind": "gateway-api"}, "edge.kind"),
    ("public-without-leg", "error", "region",
     {"networks/users": {"purpose": "public", "cidr": "192.0.2.0/24", "ranges": {"control": "192.0.2.9-192.0.2.9"}}},
     "networks.users"),
    ("address-outside-network", "error", "lab", USERS | {"edge/public": "10.90.0.2"}, KEY),
    ("address-outside-network", "error", "lab", USERS | {"edge/public": "198.51.100.2"}, KEY),
    ("duplicate-address", "error", "lab", USERS | {"edge/public": "192.0.2.1"}, KEY),
    ("duplicate-address", "error", "lab", USERS | {"edge/public": "192.0.2.255"}, KEY),
    ("duplicate-address", "error", "lab", USERS | {"edge/public": "192.0.2.16"}, KEY),
    ("pool-without-use", "error", "lab",
     {"networks/users": {"purpose": "public", "cidr": "192.0.2.0/24", "pool": "192.0.2.2-192.0.2.9"}},
     "networks.users.pool"),
    ("pool-has-planned-addresses", "error", "lab",
     {"networks/users": {"purpose": "public", "cidr": "10.90.128.0/24"}, "networks/provider":
      {"cidr": "10.90.128.0/24", "pool": "10.90.128.2-10.90.128.9"}}, "networks.provider.pool"),
]  # fmt: skip
