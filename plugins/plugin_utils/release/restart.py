"""Restart what speaks the former release's messages: Nova and Cinder look for their oldest service when they start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..helm.types import LiveRelease
from ..kube.client import Api
from ..kube.objects import RESTARTS
from ..kube.types import Object, resource_path
from ..kube.workloads import unready
from ..progress import Progress
from ..services import cinder, nova

MARK = "groundup.cloud/restarted-for"  # annotation of a pod's template: when the step began
_KINDS = {"Deployment": "deployments", "StatefulSet": "statefulsets"}
_PINNED = (nova.SERVICE.name, cinder.SERVICE.name)
_READY, _PAUSE = 1200.0, 3.0  # seconds


def since(api: Api, live: Iterable[LiveRelease]) -> dict[str, str]:
    """Return each workload of Nova and Cinder with the begin of the step that restarted it. Raises ApiError."""
    named = {
        (str(item["kind"]), release.namespace, str(item["metadata"]["name"]))
        for release in live
        if release.name in _PINNED
        for item in release.objects
        if item.get("kind") in _KINDS
    }
    found = {}
    for kind, namespace in sorted({(kind, namespace) for kind, namespace, _ in named}):
        for item in api.get(resource_path("apps/v1", _KINDS[kind], namespace=namespace)).get("items") or ():
            if (kind, namespace, name := str(item["metadata"]["name"])) in named:
                found[f"{kind}/{name}"] = _mark(item)
    return found


def restart(api: Api, namespace: str, names: Iterable[str], begun: str, *, say: Progress) -> None:
    """Restart workloads ``names`` ("Deployment/x"), new pods beside former ones, and wait until they are ready.

    Raises GroundupError when they are not, ApiError.
    """
    for one in names:
        kind, _, name = one.partition("/")
        template = {"metadata": {"annotations": {MARK: begun}}}
        item = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {"template": template}}
        api.apply(resource_path("apps/v1", _KINDS[kind], namespace=namespace, name=name), item, manager=RESTARTS)
        say(f"{one}: restarts")
    if waits := wait_until(lambda: [*_waiting(api, namespace, begun)], timeout=_READY, pause=_PAUSE):
        raise GroundupError(
            f"not ready after the restart: {'; '.join(waits)}", where=f"namespace {namespace}",
            why="former pods serve until new ones are ready; they speak the former release's messages",
            remedy="ansible-playbook groundup.cloud.openstack --tags verify says what is wrong; then run this again",
        )  # fmt: skip


def _waiting(api: Api, namespace: str, begun: str) -> Iterator[str]:
    for kind, plural in _KINDS.items():
        for item in api.get(resource_path("apps/v1", plural, namespace=namespace)).get("items") or ():
            if _mark(item) == begun and (why := unready({**item, "kind": kind})):
                yield f"{kind}/{item['metadata']['name']}: {why}"


def _mark(item: Object) -> str:
    return str((item["spec"]["template"].get("metadata", {}).get("annotations") or {}).get(MARK, ""))
