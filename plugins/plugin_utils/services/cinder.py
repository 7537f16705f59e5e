"""Cinder: volumes."""

from __future__ import annotations

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="cinder",
    title="Cinder",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="volumev3", host="volume", path="/v3", health="/healthcheck", port=8776, node_port=30877),
)
