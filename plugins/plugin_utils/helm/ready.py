"""Wait until the pods of installed releases are ready."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube.client import Api
from ..kube.types import Object, ref_of, resource_path
from ..kube.workloads import pod_reason, unready
from ..plan.types import ReleasePlan
from . import records
from .types import LiveRelease

_KINDS = {"DaemonSet": "daemonsets", "Deployment": "deployments", "StatefulSet": "statefulsets"}


def wait_ready(api: Api, releases: Sequence[ReleasePlan], *, timeout: float) -> None:
    """Wait for the workloads of ``releases``. Raises GroundupError with what the first one waits for, ApiError."""
    for release in releases:
        live = records.read(api, [release.namespace]).get((release.namespace, release.name))
        if live is None:
            raise GroundupError(
                f"release {release.name} is not installed",
                where=f"namespace {release.namespace}",
                why="nothing of it runs",
                remedy="run the same playbook without tags",
            )
        if why := wait_until(partial(_waiting, api, live), timeout=timeout):
            raise GroundupError(
                f"release {release.name}: {why}",
                where=f"namespace {release.namespace}, for {timeout:g} s",
                why="what uses it would wait, too",
                remedy=f"kubectl -n {release.namespace} get pods; kubectl -n {release.namespace} describe pod POD",
            )


def waiting(api: Api, release: ReleasePlan) -> str:
    """Return what an installed release waits for, "" when every workload of it is ready. Raises ApiError."""
    live = records.read(api, [release.namespace]).get((release.namespace, release.name))
    if live is None:
        return "it is not installed"
    return _waiting(api, live) or ("" if live.status == "deployed" else f"Helm's record says {live.status}")


def _waiting(api: Api, live: LiveRelease) -> str:
    """Return the first workload that is not ready, and why; "" when all are."""
    return next(_unready(api, live), "")


def _unready(api: Api, live: LiveRelease) -> Iterator[str]:
    for item in live.objects:
        if plural := _KINDS.get(item["kind"]):
            space = item["metadata"].get("namespace") or live.namespace
            place = resource_path(item["apiVersion"], plural, namespace=space, name=item["metadata"]["name"])
            found = api.find(place)
            if why := unready({"kind": item["kind"], **found}) if found else "it is gone":
                yield f"{ref_of(item, namespace=space)}: {why}{_reasons(api, item, space)}"


def _reasons(api: Api, item: Object, namespace: str) -> str:
    """Return what the workload's pods wait for, in brackets; "" when they say nothing."""
    chosen = (item["spec"].get("selector") or {}).get("matchLabels") or {}
    labels = ",".join(f"{key}={value}" for key, value in chosen.items())
    pods = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=labels).get("items") or ()
    said = "; ".join(sorted({reason for pod in pods if (reason := pod_reason(pod))}))
    return f" ({said})" if said else ""
