"""The services a site can run: what each needs, and where its public API is. Requirements D1 and D2 as a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A public API: ``https://<host>.<domain><path>``. Node ports are the charts' own defaults."""

    type: str
    host: str
    path: str
    node_port: int
    health: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One OpenStack service. Database, message queue and cache go without saying."""

    needs: tuple[str, ...]  # services
    api: Api | None = None


SERVICES: dict[str, Service] = {
    "keystone": Service(
        needs=(),
        api=Api(type="identity", host="identity", path="/v3", node_port=30500, health="/v3/"),
    ),
    "glance": Service(
        needs=("keystone",),
        api=Api(type="image", host="image", path="", node_port=30092, health="/healthcheck"),
    ),
    "placement": Service(
        needs=("keystone",),
        api=Api(type="placement", host="placement", path="", node_port=30778, health="/"),
    ),
    "neutron": Service(
        needs=("keystone",),
        api=Api(type="network", host="network", path="", node_port=30096, health="/"),
    ),
    "nova": Service(
        needs=("keystone", "placement", "neutron", "glance"),
        api=Api(type="compute", host="compute", path="/v2.1", node_port=30774, health="/"),
    ),
    "cinder": Service(
        needs=("keystone",),
        api=Api(type="volumev3", host="volume", path="/v3", node_port=30877, health="/healthcheck"),
    ),
    "heat": Service(
        needs=("keystone",),
        api=Api(type="orchestration", host="orchestration", path="/v1", node_port=30004, health="/"),
    ),
    "horizon": Service(
        needs=("keystone",),
        api=Api(type="dashboard", host="dashboard", path="", node_port=31000, health="/auth/login/"),
    ),
    "barbican": Service(
        needs=("keystone",),
        api=Api(type="key-manager", host="key-manager", path="", node_port=30311, health="/"),
    ),
    "designate": Service(
        needs=("keystone",),
        api=Api(type="dns", host="dns", path="", node_port=30901, health="/"),
    ),
    "octavia": Service(
        needs=("keystone", "neutron", "nova", "glance"),
        api=Api(type="load-balancer", host="load-balancer", path="", node_port=30826, health="/"),
    ),
    "manila": Service(
        needs=("keystone", "neutron"),
        api=Api(type="sharev2", host="share", path="/v2", node_port=30786, health="/"),
    ),
    "magnum": Service(
        needs=("keystone", "heat", "nova", "neutron", "barbican"),
        api=Api(type="container-infra", host="container-infra", path="/v1", node_port=30511, health="/"),
    ),
}
