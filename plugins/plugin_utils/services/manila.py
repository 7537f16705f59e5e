"""Manila: shared file systems."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="manila",
    needs=("keystone", "neutron"),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="sharev2", host="share", path="/v2", port=8786, node_port=30786),
)
