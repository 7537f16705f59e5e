"""Server-side apply of objects with a diff: pod network, storage class, namespaces and the like."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from ...module_utils._base.changes import Changes
from ..errors import GroundupError
from .access import kubeconfig_path
from .client import Api, ApiError
from .types import Object

MANAGER = "groundup"
RESTARTS = f"{MANAGER}-upgrade"  # of a pod's template, beside what Helm has of the object
SERVER_FIELDS = frozenset({
    "creationTimestamp", "generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
})  # fmt: skip
# Kinds are applied in this order, others after them. A namespace comes before its contents.
ORDER = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap")


def title(item: Mapping[str, Any]) -> str:
    """Return kind, namespace and name."""
    meta = item["metadata"]
    place = f"{meta['namespace']}/" if "namespace" in meta else ""
    return f"{item['kind']} {place}{meta['name']}"


def in_order(items: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort objects so that each comes after those it needs."""
    return sorted(items, key=lambda item: ORDER.index(item["kind"]) if item["kind"] in ORDER else len(ORDER))


def apply(site: str, objects: Iterable[Any], changes: Changes) -> None:
    """Apply ``objects`` to the cluster of ``site``, or predict it. Raises GroundupError for an incomplete one."""
    items, kubeconfig = in_order(map(_plain, objects)), kubeconfig_path(site)
    if changes.check and not kubeconfig.is_file():  # the cluster does not exist yet: everything is new
        for item in items:
            changes.add(title(item), name=title(item), after=shown(item))
        return
    applier = Applier(Api(kubeconfig))
    for item in items:
        applier.apply(item, changes)


def _plain(item: Any) -> Object:
    if not isinstance(item, Mapping) or not all(key in item for key in ("apiVersion", "kind", "metadata")):
        raise GroundupError(
            "every object needs apiVersion, kind and metadata",
            where="option objects",
            why="the API server finds its place by them",
            remedy="look at the template it comes from",
        )
    # Ansible's strings are tagged objects that YAML cannot write: convert to plain ones.
    plain: Object = json.loads(json.dumps(item))
    return plain


class Applier:
    """Applies objects to one cluster."""

    def __init__(self, api: Api) -> None:
        """Discover the cluster's API resources. Raises ApiError."""
        self._api, self._discovery = api, api.discover()

    def apply(self, item: Mapping[str, Any], changes: Changes) -> None:
        """Apply one object, or predict it, and record the change. Raises ApiError naming the object."""
        path = self._discovery.path(item)
        if path is None:
            what = f"the API has no kind {item['kind']} in {item['apiVersion']}"
            raise ApiError(what, where=title(item), status=404)
        before = self._api.find(path)
        try:
            after = self._apply(path, item, dry_run=changes.check)
        except ApiError as error:
            # In a dry run its namespace does not exist yet.
            if not (changes.check and before is None and error.status == 404):
                raise
            after = dict(item)
        if readable(before) != readable(after):
            changes.add(title(item), name=title(item), before=shown(before), after=shown(after))

    def _apply(self, path: str, item: Mapping[str, Any], *, dry_run: bool) -> Object:
        for attempt in range(5):
            try:
                return self._api.apply(path, item, manager=MANAGER, dry_run=dry_run)
            except ApiError as error:
                if error.status not in {409, 429, 500, 503} or attempt == 4:
                    raise ApiError(error.message, where=title(item), status=error.status) from error
            time.sleep(0.5 * (attempt + 1))
        raise AssertionError("unreachable")


def readable(item: Mapping[str, Any] | None) -> str:
    """Return an object as YAML without fields that the cluster writes."""
    return "" if item is None else yaml.safe_dump(declared(item))


def shown(item: Mapping[str, Any] | None) -> str:
    """Return an object as a diff may show it: a Secret with its keys alone."""
    if item is None or item["kind"] != "Secret":
        return readable(item)
    hidden = dict.fromkeys(item.get("data") or {}, "(secret)")
    return readable({**{key: value for key, value in item.items() if key != "stringData"}, "data": hidden})


def declared(item: Mapping[str, Any]) -> Object:
    """Return an object without its status and the API server's metadata."""
    meta = {key: value for key, value in (item.get("metadata") or {}).items() if key not in SERVER_FIELDS}
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": meta}
