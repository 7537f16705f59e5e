"""Placement: inventories of resources."""

from __future__ import annotations

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="placement",
    title="Placement",
    needs=("keystone",),
    uses=("database", "cache"),
    api=PublicApi(type="placement", host="placement", port=8778, node_port=30778),
)
