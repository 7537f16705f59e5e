"""Heat: stacks."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="heat",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="orchestration", host="orchestration", path="/v1", port=8004, node_port=30004),
)
