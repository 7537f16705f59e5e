"""How large each release is: members, memory and pacing, from the control hosts and the profile.

Only powers of decision are here; where a number goes in the values is each chart module's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.types import Plan

CONTROL_LABEL = "openstack-control-plane"
RACK_LABEL = "topology.kubernetes.io/zone"
HOST_LABEL = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What one kind of site can spare. Memory in MiB, volumes as Kubernetes quantities."""

    buffer_pool: int  # MariaDB: InnoDB's cache, the bulk of its memory
    connections: int  # MariaDB: the most clients at once
    database_volume: str
    queue_volume: str
    cache_memory: int  # Memcached: items
    cache_connections: int
    wsgi_processes: int  # Keystone: each is a Python process of about 120 MiB
    wsgi_threads: int
    resources: bool  # whether pods have requests and limits


# The lab shares one small machine between all pods; the edge is one good server; a region's control hosts have 256 GB.
WEIGHTS: dict[str, Weight] = {
    "lab": Weight(
        buffer_pool=128,
        connections=512,
        database_volume="2Gi",
        queue_volume="1Gi",
        cache_memory=64,
        cache_connections=1024,
        wsgi_processes=1,
        wsgi_threads=4,
        resources=False,
    ),
    "edge": Weight(
        buffer_pool=1024,
        connections=2048,
        database_volume="20Gi",
        queue_volume="4Gi",
        cache_memory=256,
        cache_connections=4096,
        wsgi_processes=2,
        wsgi_threads=4,
        resources=True,
    ),
    "region": Weight(
        buffer_pool=8192,
        connections=8192,
        database_volume="100Gi",
        queue_volume="20Gi",
        cache_memory=1024,
        cache_connections=8192,
        wsgi_processes=4,
        wsgi_threads=4,
        resources=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Members of each release, and how they are kept apart."""

    mariadb: int
    rabbitmq: int
    memcached: int
    api: int
    topology_key: str  # node label no two members share: a rack's where there are racks enough, else a host's
    spread: bool  # whether a second member on the same host or rack is forbidden, not only avoided
    weight: Weight

    @staticmethod
    def quorum(members: int) -> int:
        """Return how many of ``members`` must stay during maintenance: a majority, or none when there is only one."""
        return members // 2 + 1 if members > 1 else 0


def sizes(plan: Plan) -> Sizes:
    """Return the sizes of ``plan``: what the site file says, else one member a control host and at most three.

    Quorum services (MariaDB, RabbitMQ) take an odd number: two control hosts run one member, since two members
    survive the loss of neither.
    """
    hosts = max(1, sum("control" in host.roles for host in plan.hosts.values()))
    nodes = [host for host in plan.hosts.values() if host.node_labels.get(CONTROL_LABEL) == "enabled"]
    odd = 3 if hosts >= 3 else 1
    several = min(hosts, 3)
    wanted = plan.openstack.replicas
    members = {
        "mariadb": wanted.get("mariadb", odd),
        "rabbitmq": wanted.get("rabbitmq", odd),
        "memcached": wanted.get("memcached", several),
        "api": wanted.get("api", several),
    }
    racks = {host.node_labels.get(RACK_LABEL) for host in nodes} - {None}
    most = max(members["mariadb"], members["rabbitmq"])
    return Sizes(
        **members,
        topology_key=RACK_LABEL if most > 1 and len(racks) >= most else HOST_LABEL,
        spread=1 < most <= len(nodes),
        weight=WEIGHTS[plan.profile],
    )
