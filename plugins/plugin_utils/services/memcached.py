"""Values of the memcached chart."""

from __future__ import annotations

from ..plan.types import Plan
from .common import Values, anti_affinity, images, node_labels, resources
from .endpoints import oslo_cache
from .sizes import Sizes


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the values of release ``memcached``."""
    weight = sizes.weight
    return {
        "images": images(plan, {"memcached": "memcached"}),
        "labels": node_labels(("server",)),
        "endpoints": {"cluster_domain_suffix": plan.kubernetes.dns_domain, "oslo_cache": oslo_cache()},
        "conf": {"memcached": {"memory": weight.cache_memory, "max_connections": weight.cache_connections}},
        "pod": {
            "replicas": {"server": sizes.memcached},
            "affinity": anti_affinity(sizes, members=sizes.memcached, quorum=False),
            "resources": {
                "enabled": weight.resources,
                "memcached": resources(
                    memory=f"{weight.cache_memory + 64}Mi", limit=f"{weight.cache_memory * 2 + 128}Mi", cpu="100m"
                ),
            },
        },
        "manifests": {"job_image_repo_sync": False},
    }
