"""Values of the rabbitmq chart: one node or a cluster of three, reached by the names of its pods."""

from __future__ import annotations

from ..plan.types import Plan
from .common import Values, anti_affinity, images, node_labels, probe, resources
from .endpoints import RABBITMQ_ADMIN, account
from .secrets import secret
from .sizes import Sizes


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the values of release ``rabbitmq``."""
    several = sizes.rabbitmq > 1
    return {
        "images": images(
            plan,
            {
                "rabbitmq": "rabbitmq",
                "scripted_test": "rabbitmq",
                "rabbitmq_init": "openstack-client",
                "rabbitmq_test": "openstack-client",
            },
        ),
        "labels": node_labels(("server", "jobs", "test")),
        "endpoints": {
            "cluster_domain_suffix": plan.kubernetes.dns_domain,
            "oslo_messaging": {
                "auth": {
                    "erlang_cookie": secret("rabbitmq/erlang-cookie"),
                    "user": account(RABBITMQ_ADMIN, "rabbitmq/admin"),
                    "guest": {"password": secret("rabbitmq/guest")},
                },
            },
        },
        "pod": {
            "replicas": {"server": sizes.rabbitmq},
            "affinity": anti_affinity(sizes, members=sizes.rabbitmq, quorum=True),
            "probes": {
                "rabbitmq": {
                    "rabbitmq": {
                        "readiness": probe(delay=5, period=10, timeout=10),
                        "liveness": probe(delay=120, period=30, timeout=15),
                    }
                }
            },
            "resources": {
                "enabled": sizes.weight.resources,
                "server": resources(memory="1Gi", limit="4Gi", cpu="500m"),
            },
        },
        "volume": {"enabled": True, "class_name": plan.kubernetes.storage_class, "size": sizes.weight.queue_volume},
        # With a quorum the smaller part stops (H3); two nodes or one have no smaller part.
        "conf": {"rabbitmq": {"cluster_partition_handling": "pause_minority" if several else "autoheal"}},
        # The rollout's own verification asks every node for members, partitions and alarms.
        "manifests": {"job_cluster_wait": False, "job_image_repo_sync": False, "pod_test": False},
    }
