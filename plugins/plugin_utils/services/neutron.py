"""Neutron: networks."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="neutron",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    accounts={"nova": "for calls to Nova", "placement": "for calls to Placement"},
    plans_for="hypervisor",
    api=PublicApi(type="network", host="network", port=9696, node_port=30096, backend="neutron-server"),
)
