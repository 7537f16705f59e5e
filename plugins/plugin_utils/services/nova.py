"""Nova: servers."""

from .record import PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="nova",
    needs=("keystone", "placement", "neutron", "glance"),
    uses=("database", "queue", "cache"),
    databases={"oslo_db": "nova_api", "oslo_db_cell0": "nova_cell0", "oslo_db_cell1": "nova"},
    accounts={
        "neutron": "for calls to Neutron",
        "placement": "for calls to Placement",
        "cinder": "for calls to Cinder",
        "service": "whose token goes along with a tenant's",
    },
    slowness=2.0,  # three schemas, and the longest start of all
    runs_on=("hypervisor", "nova has nowhere to start a server"),
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
