"""Glance: images."""

from __future__ import annotations

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="glance",
    title="Glance",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="image", host="image", health="/healthcheck", port=9292, node_port=30092),
)
