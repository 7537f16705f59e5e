"""RabbitMQ: one node or a cluster of three, reached by the names of its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import anti_affinity, node_labels, probe, resources
from .record import ServiceRecord, Values
from .secrets import account, secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_ADMIN = "rabbitmq"
_VOLUME = {"lab": "1Gi", "edge": "4Gi", "region": "20Gi"}


def endpoints(_plan: Plan, sizes: Sizes, client: str) -> Values:
    """Return the message queue.

    A client's transport URL lists one pod name a member, so the number of members must be RabbitMQ's own.
    """
    if client:
        return {
            "oslo_messaging": {
                "auth": {"admin": account(_ADMIN, "rabbitmq/admin"), client: account(client, f"{client}/rabbitmq")},
                "statefulset": {"replicas": sizes.members["rabbitmq"], "name": "rabbitmq-rabbitmq"},
                "path": f"/{client}",
            }
        }
    return {
        "oslo_messaging": {
            "auth": {
                "erlang_cookie": secret("rabbitmq/erlang-cookie"),
                "user": account(_ADMIN, "rabbitmq/admin"),
                "guest": {"password": secret("rabbitmq/guest")},
            }
        }
    }


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values."""
    members = sizes.members["rabbitmq"]
    return {
        "labels": node_labels(("server", "jobs", "test")),
        "pod": {
            "replicas": {"server": members},
            "affinity": anti_affinity(sizes, members=members, quorum=True),
            "probes": {
                "rabbitmq": {
                    "rabbitmq": {
                        "readiness": probe(delay=5, period=10, timeout=10),
                        "liveness": probe(delay=120, period=30, timeout=15),
                    }
                }
            },
            "resources": {"enabled": sizes.resources, "server": resources(memory="1Gi", limit="4Gi", cpu="500m")},
        },
        "volume": {"enabled": True, "class_name": plan.kubernetes.storage_class, "size": _VOLUME[plan.profile]},
        # With a quorum the smaller part stops (H3); two nodes or one have no smaller part.
        "conf": {"rabbitmq": {"cluster_partition_handling": "pause_minority" if members > 1 else "autoheal"}},
        # The rollout's own verification asks every node for members, partitions and alarms.
        "manifests": {"job_cluster_wait": False, "pod_test": False},
    }


SERVICE = ServiceRecord(
    name="rabbitmq",
    title="RabbitMQ",
    kind="infrastructure",
    provides="queue",
    images={
        "rabbitmq": "rabbitmq",
        "scripted_test": "rabbitmq",
        "rabbitmq_init": "openstack-client",
        "rabbitmq_test": "openstack-client",
    },
    secrets={
        "rabbitmq/admin": "administrator of the message queue, who creates each service's virtual host and account",
        "rabbitmq/guest": "the guest account, which every client has to change or lose",
        "rabbitmq/erlang-cookie": "what makes RabbitMQ nodes one cluster",
    },
    client_account=("rabbitmq", "message queue account"),
    members="RabbitMQ members",
    quorum="RabbitMQ",
    inspect="kubectl --namespace NAMESPACE exec rabbitmq-rabbitmq-0 -- rabbitmqctl cluster_status",
    endpoints=endpoints,
    values=values,
)
