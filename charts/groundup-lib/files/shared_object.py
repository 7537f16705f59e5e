"""An object of the Kubernetes API that several pods change, each only against the version it read.

Standard library only: it runs in images of the database and of OpenStack, before everything else.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import ssl
import urllib.error
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PATIENCE = 5.0  # seconds for one request: an API server whose host has died is one of several
CONFLICT, NOT_FOUND = 409, 404
FAULTY = 400  # status from which on an answer is an error


class Api:
    """The cluster's API, as the pod's service account. For one thread.

    ``keep``: hold the connection open, so that an API server that dies is met once, not by every third request.
    """

    def __init__(self, *, patience: float = PATIENCE, keep: bool = False) -> None:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
        self._connection = http.client.HTTPSConnection(host, port, context=trust, timeout=patience)
        self._keep = keep

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to one request. Raises OSError, of which HTTPError is one."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}", "Content-Type": kind}
        kept = False
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            content = answer.read()
            kept = self._keep
        except http.client.HTTPException as error:
            raise OSError(f"no answer: {error!r}") from error
        finally:
            if not kept:
                self._connection.close()
        if answer.status >= FAULTY:
            raise urllib.error.HTTPError(path, answer.status, answer.reason, answer.headers, io.BytesIO(content))
        return dict(json.loads(content))


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
