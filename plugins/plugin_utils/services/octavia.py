"""Octavia: load balancers."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="octavia",
    needs=("keystone", "neutron", "nova", "glance"),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="load-balancer", host="load-balancer", port=9876, node_port=30826),
)
