"""Placement: inventories of resources."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="placement",
    needs=("keystone",),
    uses=("database", "cache"),
    api=PublicApi(type="placement", host="placement", port=8778, node_port=30778),
)
