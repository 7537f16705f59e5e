"""Heat: stacks."""

from __future__ import annotations

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="heat",
    title="Heat",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="orchestration", host="orchestration", path="/v1", port=8004, node_port=30004),
)
