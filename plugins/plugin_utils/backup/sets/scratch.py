"""A scratch pod for the restore test of MariaDB: the server's own image, nothing of the site, no network."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ....module_utils._base.wait import wait_until
from ...errors import GroundupError
from ...kube.client import Api
from ...kube.piped import PodContainer
from ...kube.probe import state_of
from ...kube.types import Object, resource_path
from ...kube.workloads import is_ready

LABEL = "groundup.cloud/restore-test"
CONTAINER, HOME = "scratch", "/scratch"
USER = 999  # mysql, in the images of the built-in charts and of OpenStack-Helm
LIFE = 3 * 3600  # seconds after which the cluster ends a pod that a killed run left
_START = 180.0  # seconds to start: a node may have to pull the image
_TAKEN_OVER = ("nodeSelector", "tolerations", "imagePullSecrets")


@contextmanager
def pod(api: Api, namespace: str, *, like: Object) -> Iterator[PodContainer]:
    """Yield the container of a scratch pod with the image of the pod ``like``. Raises GroundupError, ApiError."""
    pods = resource_path("v1", "pods", namespace=namespace)
    for left in api.get(pods, labelSelector=LABEL)["items"]:
        if (left.get("status") or {}).get("phase") in ("Succeeded", "Failed"):  # of killed runs: LIFE has passed
            api.delete(f"{pods}/{left['metadata']['name']}", gracePeriodSeconds="0")
    with started(api, namespace, manifest(f"groundup-restore-test-{secrets.token_hex(3)}", like=like)) as container:
        yield container


@contextmanager
def started(api: Api, namespace: str, body: dict[str, Any]) -> Iterator[PodContainer]:
    """Yield the container of the pod ``body``, which is removed afterwards. Raises GroundupError, ApiError."""
    pods, name = resource_path("v1", "pods", namespace=namespace), str(body["metadata"]["name"])
    api.request("POST", pods, body=body)
    try:
        found: Object = {}

        def waits() -> bool:
            found.update(api.get(f"{pods}/{name}"))
            return not is_ready(found)

        if wait_until(waits, timeout=_START, pause=0.5):
            raise GroundupError(
                f"the scratch pod does not start: {state_of(found)}{_conditions(found)}",
                where=f"namespace {namespace}, pod {name}",
                why="MariaDB's part of the set was not restored",
                remedy="see what the cluster says of the pod; then run this again",
            )
        yield PodContainer(api=api, namespace=namespace, pod=name, container=CONTAINER)
    finally:
        api.delete(f"{pods}/{name}", gracePeriodSeconds="0")


def manifest(name: str, *, like: Mapping[str, Any], claim: str = "") -> dict[str, Any]:
    """Return the pod, with the volume of ``claim`` or an empty one. It obeys the Pod Security Standard `restricted`."""
    volume: dict[str, Any] = {"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}}
    image = next(one["image"] for one in like["spec"]["containers"] if one["name"] == "mariadb")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {LABEL: "true"}},
        "spec": {
            **{field: like["spec"][field] for field in _TAKEN_OVER if like["spec"].get(field)},
            "restartPolicy": "Never",
            "activeDeadlineSeconds": LIFE,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER, "runAsNonRoot": True,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": CONTAINER,
                    "image": image,
                    "command": ["sleep", str(LIFE)],
                    "securityContext": {
                        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [
                        {"name": "data", "mountPath": HOME},
                        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the pod
                    ],
                }
            ],
            "volumes": [{"name": "data", **volume}, {"name": "tmp", "emptyDir": {}}],
        },
    }  # fmt: skip


def _conditions(found: Object) -> str:
    told = [
        str(one["message"]) for one in (found.get("status") or {}).get("conditions") or ()
        if one.get("status") != "True" and one.get("message")
    ]  # fmt: skip
    return f" ({'; '.join(dict.fromkeys(told))})" if told else ""
