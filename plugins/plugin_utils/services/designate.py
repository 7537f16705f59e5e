"""Designate: DNS zones."""

from __future__ import annotations

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="designate",
    title="Designate",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="dns", host="dns", port=9001, node_port=30901),
)
