"""A Lease object of the cluster, held by a process of a controller."""

from __future__ import annotations

from datetime import UTC, datetime

from .client import Api, ApiError
from .types import Object, resource_path

CONFLICT, MISSING = 409, 404
_API = "coordination.k8s.io/v1"


class Lease:
    """The Lease ``name`` with holder ``me``. A write lasts ``seconds``; ``patience``: seconds per request."""

    def __init__(
        self, api: Api, *, namespace: str, name: str, me: str, seconds: float, patience: float | None = None
    ) -> None:
        self.name, self.me, self.seconds, self.patience = name, me, seconds, patience
        self._api, self._collection = api, resource_path(_API, "leases", namespace=namespace)
        self._path = f"{self._collection}/{name}"

    def find(self) -> Object | None:
        """Return the Lease, None when there is none. Raises ApiError."""
        return self._api.find(self._path)

    def read(self) -> Object:
        """Return the Lease. Raises ApiError."""
        return self._api.request("GET", self._path, timeout=self.patience)

    def is_ours(self, found: Object) -> bool:
        """Return whether we hold it."""
        return bool((found.get("spec") or {}).get("holderIdentity") == self.me)

    def write(self, found: Object | None, *, dry_run: bool = False) -> Object:
        """Take or renew it, unless it is no longer as ``found``: then raises ApiError, `CONFLICT` or `MISSING`."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = (found or {}).get("spec") or {}
        if found is None or not self.is_ours(found):
            spec = {"acquireTime": now, "leaseTransitions": int(spec.get("leaseTransitions") or 0) + bool(found)}
        held = {"holderIdentity": self.me, "renewTime": now, "leaseDurationSeconds": max(1, round(self.seconds))}
        body = {
            "apiVersion": _API,
            "kind": "Lease",
            "metadata": found["metadata"] if found else {"name": self.name},  # its resource version is the precondition
            "spec": {**spec, **held},
        }
        return self._api.request(
            "PUT" if found else "POST", self._path if found else self._collection, body=body, timeout=self.patience,
            query={"dryRun": "All"} if dry_run else None,
        )  # fmt: skip

    def release(self) -> None:
        """Delete it if it is still ours. If the cluster does not answer, it expires."""
        try:
            if self.is_ours(found := self.read()):
                version = {"resourceVersion": found["metadata"]["resourceVersion"]}
                self._api.delete(self._path, body={"preconditions": version})
        except ApiError:
            return
