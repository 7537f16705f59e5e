"""Pods that hold connections to OVN's databases: they refuse a cluster made anew until they are restarted.

The Secret of their certificate notes which clusters they were told of last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._base.changes import Changes
from ..kube.client import Api
from ..kube.objects import RESTARTS
from ..kube.types import Object, resource_path
from ..kube.workloads import pod_spec

NOTE = "groundup.cloud/ovn-clusters"  # annotation of the Secret, and of the template of pods that were restarted
_KINDS = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}


def follow(api: Api, secret: Mapping[str, Any], clusters: Mapping[str, str], changes: Changes) -> None:
    """Restart pods that mount ``secret`` (its metadata) where it notes other ``clusters``. Raises ApiError."""
    namespace, name = secret["namespace"], secret["name"]
    path = resource_path("v1", "secrets", namespace=namespace, name=name)
    found, now = api.find(path), _text(clusters)
    noted = _note(found or {})
    if found is None or noted == now:
        return
    note = {"annotations": {NOTE: now}}
    for kind, plural in _KINDS.items() if noted else ():  # at first, they know no other clusters
        for item in api.get(resource_path("apps/v1", plural, namespace=namespace)).get("items") or ():
            own = str(item["metadata"]["name"])
            if _mounts(item, name) and _note(item["spec"]["template"]) != now and changes.add(f"restart {kind} {own}"):
                place = resource_path("apps/v1", plural, namespace=namespace, name=own)
                spec = {"template": {"metadata": note}}
                body = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": own}, "spec": spec}
                api.apply(place, body, manager=RESTARTS)
    _write(api, secret, now, changes)


def remember(api: Api, secret: Mapping[str, Any], clusters: Mapping[str, str], changes: Changes) -> None:
    """Note ``clusters`` that are to be forgotten, where nobody has noted any: pods know them. Raises ApiError."""
    namespace, name = secret["namespace"], secret["name"]
    found = api.find(resource_path("v1", "secrets", namespace=namespace, name=name))
    if found is not None and not _note(found):
        _write(api, secret, _text(clusters), changes)


def _write(api: Api, secret: Mapping[str, Any], text: str, changes: Changes) -> None:
    namespace, name = secret["namespace"], secret["name"]
    if changes.add(f"note the clusters of OVN's databases at Secret {name}"):
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "annotations": {NOTE: text}}}
        api.apply(resource_path("v1", "secrets", namespace=namespace, name=name), body, manager=RESTARTS)


def _text(clusters: Mapping[str, str]) -> str:
    return ",".join(f"{short}={cluster}" for short, cluster in sorted(clusters.items()))


def _mounts(item: Object, secret: str) -> bool:
    return any((one.get("secret") or {}).get("secretName") == secret for one in pod_spec(item).get("volumes") or ())


def _note(item: Mapping[str, Any]) -> str:
    return str(((item.get("metadata") or {}).get("annotations") or {}).get(NOTE, ""))
