"""Server-side apply of a few objects, with a truthful diff: for what the cluster itself needs, before any chart.

Charts are the rollout engine's business; this is for the pod network, the storage class and the like.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ...module_utils._kubeadm.api import APPLY, Api, ApiError

MANAGER = "groundup"
Object = Mapping[str, Any]
# Applied in this order; any other kind after them. A namespace comes before what is in it.
ORDER = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One object that differed."""

    name: str  # "DaemonSet kube-flannel/kube-flannel"
    before: str  # YAML, empty when it was not there
    after: str


def title(item: Object) -> str:
    """Return kind, namespace and name."""
    meta = item["metadata"]
    return (
        f"{item['kind']} {meta['namespace']}/{meta['name']}"
        if "namespace" in meta
        else f"{item['kind']} {meta['name']}"
    )


def in_order(items: Iterable[Object]) -> list[Object]:
    """Sort objects so that each comes after what it needs."""
    return sorted(items, key=lambda item: ORDER.index(item["kind"]) if item["kind"] in ORDER else len(ORDER))


class Applier:
    """Applies objects through one connection."""

    def __init__(self, api: Api) -> None:
        """Use the connection ``api``."""
        self._api = api
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def path(self, item: Object) -> str:
        """Return the path of an object in the API. Raises ApiError when the API has no such kind."""
        version, kind, meta = item["apiVersion"], item["kind"], item["metadata"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self._plurals:
            for resource in self._api.request("GET", base)["resources"]:
                if "/" not in resource["name"]:
                    self._plurals[version, resource["kind"]] = (resource["name"], resource["namespaced"])
        if (version, kind) not in self._plurals:
            raise ApiError(f"the API has no kind {kind} in {version}", status=404)
        plural, namespaced = self._plurals[version, kind]
        inside = f"/namespaces/{meta['namespace']}" if namespaced else ""
        return f"{base}{inside}/{plural}/{meta['name']}"

    def apply(self, item: Object, *, check: bool) -> Change | None:
        """Apply one object; return what changed, or would in ``check``. Raises ApiError."""
        path = self.path(item)
        before = self._api.get(path)
        query = f"?fieldManager={MANAGER}&force=true" + ("&dryRun=All" if check else "")
        try:
            after = self._patch(path + query, item)
        except ApiError as error:
            # In check mode its namespace would have been made just before.
            if check and before is None and error.status == 404:
                after = dict(item)
            else:
                raise
        old, new = readable(before), readable(after)
        return None if old == new else Change(name=title(item), before=old, after=new)

    def _patch(self, path: str, item: Object) -> dict[str, Any]:
        for attempt in range(5):
            try:
                return self._api.request("PATCH", path, item, content_type=APPLY)
            except ApiError as error:
                if error.status not in {409, 429, 500, 503} or attempt == 4:
                    raise
            time.sleep(0.5 * (attempt + 1))
        raise AssertionError("unreachable")


def readable(item: Mapping[str, Any] | None) -> str:
    """Return an object as YAML without what the cluster itself writes."""
    if item is None:
        return ""
    meta = {k: v for k, v in item["metadata"].items() if k not in SERVER_FIELDS}
    return yaml.safe_dump({**{k: v for k, v in item.items() if k != "status"}, "metadata": meta})


SERVER_FIELDS = frozenset({"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"})
