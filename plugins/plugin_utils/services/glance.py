"""Glance: images."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="glance",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="image", host="image", health="/healthcheck", port=9292, node_port=30092),
)
