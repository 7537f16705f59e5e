"""Images that were deleted while clones lived: Glance leaves them in the trash of its pool, and nobody removes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import ceph
from .parts import node_labels, resources
from .record import Values
from .sizes import Sizes

if TYPE_CHECKING:
    from ...module_utils._plan.ceph import CephPlan
    from ..plan.types import Plan

_NAME = "glance-trash"
_USER = 42424
_SCHEDULE = "17 * * * *"
# `rbd trash purge` fails while any clone lives; a task of the manager kills that of Debian 13. Glance's images have its
# ids for names: another one in the trash is somebody's own.
SCRIPT = f'''\
"""Remove the images of the trash that have no clone any more. Arguments: Glance's user, its pool."""
import sys
import uuid

import rados
import rbd

user, pool = sys.argv[1:]
trash = rbd.RBD()
with rados.Rados(conffile="{ceph.CONF}", name="client." + user) as cluster, cluster.open_ioctx(pool) as images:
    for one in list(trash.trash_list(images)):
        try:
            uuid.UUID(one["name"])
            trash.trash_remove(images, one["id"])
            print("removed", one["name"], flush=True)
        except ValueError:
            print("kept, no image of Glance:", one["name"], flush=True)
        except (rbd.ImageHasSnapshots, rbd.ImageBusy, rbd.PermissionError) as error:
            print("kept, has clones, is in use, or was to be kept for a time:", one["name"], error, flush=True)
        except rbd.ImageNotFound:
            pass
'''


def objects(plan: Plan, found: CephPlan, sizes: Sizes, *, keyring: str) -> Values:
    """Return ``extraObjects`` of an hourly job with Glance's own key. ``keyring``: the Secret that has it."""
    labels = {"application": "glance", "component": "trash", "release_group": "glance"}
    secured = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    sources = [{"configMap": {"name": "glance-ceph-etc"}}, {"secret": {"name": keyring}}]
    selector = node_labels(("job",))["job"]
    container = {
        "name": _NAME,
        "image": plan.supply.images["openstack"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "/opt/trash/trash.py", ceph.user(found, "glance"), found.pools["images"].name],
        "securityContext": secured,
        "volumeMounts": [
            {"name": "ceph", "mountPath": "/etc/ceph", "readOnly": True},
            {"name": "script", "mountPath": "/opt/trash", "readOnly": True},
        ],
        **({"resources": resources(memory="64Mi", limit="512Mi", cpu=sizes.cpu(50))} if sizes.resources else {}),
    }
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "nodeSelector": {selector["node_selector_key"]: selector["node_selector_value"]},
        "securityContext": {
            "runAsUser": _USER, "runAsGroup": _USER, "fsGroup": _USER, "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "ceph", "projected": {"defaultMode": 0o440, "sources": sources}},
            {"name": "script", "configMap": {"name": _NAME}},
        ],
    }  # fmt: skip
    job = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": 3000,
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": _NAME, "labels": labels},
        "spec": {
            "schedule": _SCHEDULE,
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"metadata": {"labels": labels}, "spec": job},
        },
    }
    script = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _NAME}, "data": {"trash.py": SCRIPT}}
    return {"trash_script": script, "trash_job": cron}
