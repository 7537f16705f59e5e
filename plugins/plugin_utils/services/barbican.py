"""Barbican: keys."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="barbican",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="key-manager", host="key-manager", port=9311, node_port=30311),
)
