"""The driver of the storage class `general` where its volumes are images in Ceph: ceph-csi, by its own chart.

The same for every storage backend: monitors, pool and key are the plan's. Rook's operator brings a driver of another
name, which makes no class by itself.
"""

from __future__ import annotations

from typing import Any

from ....module_utils._plan.ceph import CephPlan
from ..types import ReleasePlan
from . import versions

RELEASE = "ceph-csi-rbd"  # also its chart's name and its namespace
SECRET = "csi-rbd-secret"  # noqa: S105  # the name of a Secret
# Exclusive locks let the next node fence a dead one (blocklist); krbd of Debian 12 and 13 has both.
FEATURES = "layering,exclusive-lock"


def csi(ceph: CephPlan, *, name: str, images: dict[str, str], nodes: int) -> tuple[ReleasePlan, ...]:
    """Return the releases of the driver. ``name``: of the storage class; ``nodes``: how many take pods."""
    client, replicas = ceph.clients["kubernetes"], min(2, max(1, nodes))
    unmetered = {"enabled": False, "service": {"enabled": False}}  # its port would be open on every host
    values: dict[str, Any] = {
        "csiConfig": [{"clusterID": ceph.fsid, "monitors": [one.address for one in ceph.monitors]}],
        "storageClass": {
            "create": True,
            "name": name,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
            "clusterID": ceph.fsid,
            "pool": client.writes[0],
            "imageFeatures": FEATURES,
            **dict.fromkeys(("provisionerSecret", "controllerExpandSecret", "nodeStageSecret"), SECRET),
            "fstype": "ext4",
            "reclaimPolicy": "Delete",
            "allowVolumeExpansion": True,
        },
        "secret": {
            "create": True,
            "name": SECRET,
            "userID": client.name.removeprefix("client."),
            "userKey": {"$secret": client.secret},
            "encryptionPassphrase": '""',  # nothing is encrypted by it, and the chart's default is published
        },
        "logLevel": 0,
        "nodeplugin": {
            "httpMetrics": unmetered,
            "registrar": _image(images["csi-node-driver-registrar"]),
            "plugin": _image(images["cephcsi"]),
        },
        "provisioner": {
            "replicaCount": replicas,
            # No two on one node: a lone one has to go before its successor starts.
            "strategy": {"rollingUpdate": {"maxUnavailable": "50%" if replicas > 1 else "100%"}},
            "httpMetrics": unmetered,
            **{one: _image(images[f"csi-{one}"]) for one in ("provisioner", "attacher", "resizer", "snapshotter")},
        },
    }
    return (
        ReleasePlan(
            name=RELEASE, chart=RELEASE, version=versions.RBD.chart_version, namespace=RELEASE, needs=(),
            verify="workloads", values=values,
        ),
    )  # fmt: skip


def _image(reference: str) -> dict[str, Any]:
    """Return ``reference`` as the chart takes it: it joins both with a colon."""
    repository, _, tag = reference.rpartition(":")
    return {"image": {"repository": repository, "tag": tag}}
