"""An object of the Kubernetes API that several pods change, each only against the version it read.

Standard library only: it runs in the database's own image, before everything else.
"""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PATIENCE = 5.0  # seconds for one request: an API server whose host has died is one of several
CONFLICT, NOT_FOUND = 409, 404


class Api:
    """The cluster's API, as the pod's service account."""

    def __init__(self) -> None:
        host = os.environ["KUBERNETES_SERVICE_HOST"]
        host = f"[{host}]" if ":" in host else host
        self.url = f"https://{host}:{os.environ['KUBERNETES_SERVICE_PORT']}"
        self.trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to one request. Raises OSError, of which HTTPError is one."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(  # noqa: S310 - always https
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}", "Content-Type": kind},
        )
        with urllib.request.urlopen(request, context=self.trust, timeout=PATIENCE) as answer:  # noqa: S310  # always https
            return dict(json.load(answer))


class SharedObject:
    """One named object. ``collection``: the path it lies below."""

    def __init__(self, api: Api, *, collection: str, name: str) -> None:
        self._api, self._collection, self._name = api, collection, name

    def read(self) -> dict[str, Any]:
        """Return the object, made when it is missing."""
        try:
            return self._api.call("GET", f"{self._collection}/{self._name}")
        except urllib.error.HTTPError as error:
            if error.code != NOT_FOUND:
                raise
        try:
            return self._api.call("POST", self._collection, {"metadata": {"name": self._name}})
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise
        return self._api.call("GET", f"{self._collection}/{self._name}")

    def change(self, read: dict[str, Any], patch: dict[str, Any]) -> bool:
        """Change what was ``read`` and return whether it was still the same; when not, nothing has changed."""
        metadata = {**patch.get("metadata", {}), "resourceVersion": read["metadata"]["resourceVersion"]}
        try:
            self._api.call("PATCH", f"{self._collection}/{self._name}", {**patch, "metadata": metadata})
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise
            return False
        return True
