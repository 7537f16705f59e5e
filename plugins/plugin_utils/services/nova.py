"""Nova: servers."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="nova",
    needs=("keystone", "placement", "neutron", "glance"),
    uses=("database", "queue", "cache"),
    shares=(
        (
            "conf.nova.neutron.metadata_proxy_shared_secret",
            "neutron",
            "conf.metadata_agent.DEFAULT.metadata_proxy_shared_secret",
        ),
        (
            "conf.nova.neutron.metadata_proxy_shared_secret",
            "neutron",
            "conf.ovn_metadata_agent.DEFAULT.metadata_proxy_shared_secret",
        ),
    ),
    api=PublicApi(type="compute", host="compute", path="/v2.1", port=8774, node_port=30774),
)
