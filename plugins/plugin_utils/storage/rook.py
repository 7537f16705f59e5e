"""The plan's Ceph as Rook's resources. Rook's operator and CRDs must be installed already.

We choose the cluster's id and the keys of monitors and administrator: Rook takes them from an existing Secret
(`CreateOrLoadClusterInfo` of its operator). The layer imports keys of services, as in any other Ceph.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..layers.storage import ADMIN, MONITORS
from .cephadm import image, settings

if TYPE_CHECKING:
    from ...module_utils._plan.ceph import CephPlan, CephPool
    from ..plan.types import Plan

GROUP = "ceph.rook.io/v1"
NAMESPACE = NAME = "rook-ceph"  # as in the operator's chart
MON_ADDRESS = "network.rook.io/mon-ip"  # node annotation; else a monitor uses the InternalIP (network management)
TOPOLOGY = "topology.rook.io/"  # node labels: location of its OSDs in the CRUSH map


def objects(plan: Plan, ceph: CephPlan, *, keys: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return all resources; ``keys`` are those of monitors and administrator, by name of secret."""
    access = {
        "fsid": ceph.fsid,
        "mon-secret": keys[MONITORS],
        "ceph-username": "client.admin",
        "ceph-secret": keys[ADMIN],
    }
    encoded = {name: base64.b64encode(value.encode()).decode() for name, value in access.items()}
    monitors = {one.name: {MON_ADDRESS: one.address} for one in ceph.monitors}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "annotations": monitors.get(name, {}),
                "labels": {f"{TOPOLOGY}{kind}": at for kind, at in place.items() if kind != "host"},
            },
        }
        for name, place in ceph.locations.items()
    ]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "rook-ceph-mon", "namespace": NAMESPACE},
            "type": "kubernetes.io/rook", "data": encoded,
        },
        *nodes,
        _resource("CephCluster", NAME, cluster(plan, ceph)),
        *(_resource("CephBlockPool", pool.name, _pool(ceph, pool)) for pool in ceph.pools.values()),
    ]  # fmt: skip


def cluster(plan: Plan, ceph: CephPlan) -> dict[str, Any]:
    """Return the specification of the CephCluster."""
    return {
        # Rook's releases default to newer images; the site's registry has this one.
        "cephVersion": {"image": image(plan), "allowUnsupported": False},
        "dataDirHostPath": "/var/lib/rook",
        "mon": {"count": len(ceph.monitors), "allowMultiplePerNode": False},
        "mgr": {"count": len(ceph.managers), "allowMultiplePerNode": False},
        # Host network: hypervisors are outside the Kubernetes cluster, and a monitor's address must never change.
        "network": {"provider": "host", "addressRanges": {"public": [ceph.public_network]}},
        "placement": {
            "mon": _on([one.name for one in ceph.monitors]),
            "mgr": _on(ceph.managers),
            "osd": _on(ceph.locations),
        },
        "cephConfig": {"global": settings(ceph)},
        "storage": {
            "useAllNodes": False,
            "useAllDevices": False,
            "nodes": [
                {
                    "name": name,
                    "devices": [
                        {"name": one.device, "config": {"deviceClass": one.device_class}}
                        for one in ceph.osds[plan.hosts[name].hardware]
                        if one.device
                    ],
                }
                for name in ceph.locations
            ],
        },
        # An OSD that is down is a fault, not a request to remove it.
        "removeOSDsIfOutAndSafeToRemove": False,
    }


def _pool(ceph: CephPlan, pool: CephPool) -> dict[str, Any]:
    rule = next(one for one in ceph.rules if one.name == pool.rule)
    return {
        "failureDomain": rule.failure_domain,
        "deviceClass": rule.device_class,
        "application": pool.application,
        "replicated": {"size": pool.replicas, "requireSafeReplicaSize": pool.replicas > 1},
        "parameters": {"min_size": str(pool.min_size), "pg_num": str(pool.pg_num), "pg_autoscale_mode": "off"},
    }


def _on(hosts: Iterable[str]) -> dict[str, Any]:
    matches = [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(hosts)}]
    required = {"nodeSelectorTerms": [{"matchExpressions": matches}]}
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required},
        "tolerations": [{"operator": "Exists"}],
    }


def _resource(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": GROUP, "kind": kind, "metadata": metadata, "spec": dict(spec)}
