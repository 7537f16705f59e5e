"""Octavia: load balancers."""

from __future__ import annotations

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="octavia",
    title="Octavia",
    needs=("keystone", "neutron", "nova", "glance"),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="load-balancer", host="load-balancer", port=9876, node_port=30826),
)
