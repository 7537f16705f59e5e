"""Cinder: volumes."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="cinder",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="volumev3", host="volume", path="/v3", health="/healthcheck", port=8776, node_port=30877),
)
