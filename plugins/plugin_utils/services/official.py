"""Register a service by its official type, too, where OpenStack-Helm's chart registers it by an older one alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .parts import merge, node_labels
from .record import Values

_SCRIPT = Path(__file__).resolve().parents[3] / "charts/groundup-lib/files/identity.py"
_USER = 65534
_PLACE = "/opt/identity"
_INTERFACES = ("public", "internal", "admin")


def registered(values: Values, defaults: Mapping[str, Any], *, service: str, type_: str, official: str) -> Values:
    """Return ``values`` with a Job that adds ``official`` to the catalog, at the endpoints of ``type_``.

    The Job cannot be changed, so its name ends in digests of what it does: the next run replaces it.
    Charts that have no job of their own for that (ours) register both.
    """
    if "job_ks_service" not in defaults.get("manifests", {}):
        return values
    key, script = type_.replace("-", "_"), _SCRIPT.read_text(encoding="utf-8")
    pod = _pod(values, secret=defaults["secrets"]["identity"]["admin"])
    digest = hashlib.sha256(json.dumps([pod, script], sort_keys=True).encode()).hexdigest()[:8]
    rendered = "{{ list .Values.endpoints .Values.images | toJson | sha256sum | trunc 8 }}"
    name = f"{service}-official-type-{digest}-{rendered}"
    labels = {"application": service, "component": "official-type", "release_group": service}
    pod["volumes"] = [{"name": "identity", "configMap": {"name": name}}, {"name": "scratch", "emptyDir": {}}]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        # Keystone may be away for longer than one attempt waits.
        "spec": {"backoffLimit": 1000, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }
    wanted = _wanted(service=service, key=key, official=official)
    files = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"identity.py": script, "identity.json": wanted},
    }
    return merge(values, {"extraObjects": {"official_type": files, "official_type_job": job}})


def _wanted(*, service: str, key: str, official: str) -> str:
    """Return the template of what the script makes. No double quotes: YAML would escape them."""
    url = "include `helm-toolkit.endpoints.keystone_endpoint_uri_lookup` (tuple `{key}` `{one}` `api` .)"
    urls = " ".join(f"`{one}` ({url.format(key=key, one=one)})" for one in _INTERFACES)
    entry = f"dict `type` `{official}` `name` `{service}` `endpoints` (dict {urls})"
    region = f".Values.endpoints.identity.auth.{service}.region_name"
    return f"{{{{ dict `region` {region} `users` (list) `services` (list ({entry})) | toJson }}}}"


def _pod(values: Values, *, secret: str) -> Values:
    selector = node_labels(("job",))["job"]
    container = {
        "name": "official-type",
        "image": values["images"]["tags"]["ks_service"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", f"{_PLACE}/identity.py", f"{_PLACE}/identity.json"],
        "envFrom": [{"secretRef": {"name": secret}}],
        "securityContext": {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "identity", "mountPath": _PLACE, "readOnly": True},
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - in the pod
        ],
    }  # fmt: skip
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "OnFailure",
        "nodeSelector": {selector["node_selector_key"]: selector["node_selector_value"]},
        "securityContext": {
            "runAsUser": _USER, "runAsGroup": _USER, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }  # fmt: skip
