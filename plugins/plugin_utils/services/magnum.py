"""Magnum: Kubernetes clusters for tenants."""

from .record import Advice, PublicApi, ServiceRecord

SERVICE = ServiceRecord(
    name="magnum",
    needs=("keystone", "heat", "nova", "neutron", "barbican"),
    uses=("database", "queue", "cache"),
    advice=(
        Advice(
            name="needless-magnum",
            when=lambda plan, _: plan.profile != "region",
            what="magnum in a site of profile {profile}",
            why="it adds Heat, Barbican and a trust to what Cluster API does with an application credential (M2)",
            remedy="leave it out unless tenants must order clusters from OpenStack itself",
        ),
    ),
    api=PublicApi(type="container-infra", host="container-infra", path="/v1", port=9511, node_port=30511),
)
