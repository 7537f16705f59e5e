"""Memcached: what services keep for a while, tokens above all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import anti_affinity, node_labels, resources
from .record import Advice, ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_MEMORY = {"lab": 64, "edge": 256, "region": 1024}  # MiB of items
_CONNECTIONS = {"lab": 1024, "edge": 4096, "region": 8192}


def endpoints(_plan: Plan, _sizes: Sizes, _client: str) -> Values:
    """Return the cache. Without this key the charts make one up at every render, which rolls every pod."""
    return {"oslo_cache": {"auth": {"memcache_secret_key": secret("memcached/secret-key")}}}


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values."""
    members, memory = sizes.members["memcached"], _MEMORY[plan.profile]
    return {
        "labels": node_labels(("server",)),
        "conf": {"memcached": {"memory": memory, "max_connections": _CONNECTIONS[plan.profile]}},
        "pod": {
            "replicas": {"server": members},
            "affinity": anti_affinity(sizes, members=members, quorum=False),
            "resources": {
                "enabled": sizes.resources,
                "memcached": resources(memory=f"{memory + 64}Mi", limit=f"{memory * 2 + 128}Mi", cpu="100m"),
            },
        },
    }


SERVICE = ServiceRecord(
    name="memcached",
    title="Memcached",
    kind="infrastructure",
    provides="cache",
    images={"memcached": "memcached"},
    secrets={"memcached/secret-key": "encrypts what services keep in Memcached"},
    members="Memcached members",
    advice=(
        Advice(
            name="single-memcached",
            when=lambda _, sizes: sizes.members["memcached"] < 2,
            production=True,
            where="openstack.replicas.memcached",
            what="Memcached has one member",
            why="its loss makes every token check ask the database at once",
            remedy="write 2 or more",
        ),
    ),
    endpoints=endpoints,
    values=values,
)
