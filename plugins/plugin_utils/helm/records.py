"""Read Helm's records of releases from the cluster: one request per namespace, not a helm process per release.

Helm keeps a revision in a Secret of type helm.sh/release.v1: gzip'd JSON, base64 in the field, base64 again by the API.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from collections.abc import Iterable
from typing import Any

from ..errors import GroundupError
from ..kube.client import Api
from ..kube.types import Object, resource_path
from .client import RENDER_LABEL
from .manifests import parse, split
from .types import LiveRelease

_RECORDS = {"labelSelector": "owner=helm", "fieldSelector": "type=helm.sh/release.v1"}
_DEPLOYED = ("deployed", "superseded")


def read(api: Api, namespaces: Iterable[str]) -> dict[tuple[str, str], LiveRelease]:
    """Return the newest record of every release in ``namespaces``, by (namespace, name)."""
    found: dict[tuple[str, str], LiveRelease] = {}
    for namespace in sorted(set(namespaces)):
        secrets = api.get(resource_path("v1", "secrets", namespace=namespace), **_RECORDS).get("items") or ()
        found.update({(namespace, release.name): release for release in newest(secrets)})
    return found


def newest(secrets: Iterable[Object]) -> list[LiveRelease]:
    """Return the newest revision of each release among Helm's record Secrets."""
    revisions: dict[str, list[tuple[int, Object]]] = {}
    for secret in secrets:
        labels = (secret.get("metadata") or {}).get("labels") or {}
        if "name" in labels and str(labels.get("version", "")).isdigit():
            revisions.setdefault(str(labels["name"]), []).append((int(labels["version"]), secret))
    releases = []
    for name, records in sorted(revisions.items()):
        revision, last = max(records, key=lambda record: record[0])
        before = any(_labels(secret).get("status") in _DEPLOYED for _, secret in records)
        releases.append(_decode(name, revision, last, deployed_before=before))
    return releases


def _payload(secret: Object) -> dict[str, Any]:
    """Return the JSON of a record. Raises GroundupError, naming the Secret, when it cannot be read."""
    name = (secret.get("metadata") or {}).get("name", "?")
    try:
        outer = base64.b64decode((secret.get("data") or {})["release"])
        return dict(json.loads(gzip.decompress(base64.b64decode(outer))))
    except (KeyError, ValueError, OSError, EOFError, binascii.Error) as error:
        raise GroundupError(
            f"Helm's record of a release cannot be read: {error}",
            where=f"Secret {name}",
            why="it says what is live",
            remedy="remove that Secret; the next run adopts the release's objects",
        ) from error


def _decode(name: str, revision: int, secret: Object, *, deployed_before: bool) -> LiveRelease:
    content = _payload(secret)
    meta = secret.get("metadata") or {}
    namespace = str(meta.get("namespace", ""))
    hooks = [str(hook.get("manifest", "")) for hook in content.get("hooks") or ()]
    documents = "\n---\n".join([str(content.get("manifest", "")), *hooks])
    rendered = split(name, namespace, parse(documents, where=f"record {meta.get('name')}"))
    chart = (content.get("chart") or {}).get("metadata") or {}
    return LiveRelease(
        name=name,
        namespace=namespace,
        revision=revision,
        status=str((content.get("info") or {}).get("status", "unknown")),
        chart=str(chart.get("name", "")),
        chart_version=str(chart.get("version", "")),
        deployed_before=deployed_before,
        digest=_labels(secret).get(RENDER_LABEL, ""),
        objects=rendered.objects,
        hooks=rendered.hooks,
        values=dict(content.get("config") or {}),
        app_version=str(chart.get("appVersion", "")),
    )


def _labels(secret: Object) -> dict[str, str]:
    return dict((secret.get("metadata") or {}).get("labels") or {})
