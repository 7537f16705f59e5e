"""Kubernetes objects as plain mappings, references to them, their paths in the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """A reference to one object of the cluster."""

    kind: str
    namespace: str  # "" for cluster-wide kinds
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def ref_of(item: Object, *, namespace: str = "") -> Ref:
    """Return the reference of ``item``; ``namespace``: the default when the object names none."""
    meta = item.get("metadata") or {}
    return Ref(str(item.get("kind", "")), str(meta.get("namespace") or namespace), str(meta.get("name", "")))


Resource = tuple[str, bool]  # plural, and whether objects of the kind are in a namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The API resources that a cluster serves."""

    version: str  # "v1.36.3"
    resources: dict[tuple[str, str], Resource]  # by (group/version, kind)

    def api_versions(self) -> tuple[str, ...]:
        """Return the API versions in Helm's form for charts: ``apps/v1`` and ``apps/v1/Deployment``."""
        names = {key[0] for key in self.resources} | {f"{group}/{kind}" for group, kind in self.resources}
        return tuple(sorted(names))

    def is_cluster_wide(self, item: Mapping[str, Any]) -> bool:
        """Return whether ``item`` is known to be in no namespace."""
        resource = self.resources.get((str(item.get("apiVersion")), str(item.get("kind"))))
        return resource is not None and not resource[1]

    def path(self, item: Mapping[str, Any], *, namespace: str = "") -> str | None:
        """Return the URL path of ``item``; None when its kind is not served, or not yet, as before its CRD exists."""
        group_version = str(item.get("apiVersion"))
        resource = self.resources.get((group_version, str(item.get("kind"))))
        if resource is None:
            return None
        plural, namespaced = resource
        meta = item.get("metadata") or {}
        scope = str(meta.get("namespace") or namespace) if namespaced else None
        return resource_path(group_version, plural, namespace=scope, name=str(meta.get("name", "")))


def resource_path(group_version: str, plural: str, *, namespace: str | None = None, name: str = "") -> str:
    """Return the path of a collection or, with ``name``, of one object."""
    base = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    scope = f"/namespaces/{quote(namespace)}" if namespace else ""
    return f"{base}{scope}/{plural}" + (f"/{quote(name, safe='')}" if name else "")
