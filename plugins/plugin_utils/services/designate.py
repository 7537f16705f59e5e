"""Designate: DNS zones."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="designate",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="dns", host="dns", port=9001, node_port=30901),
)
