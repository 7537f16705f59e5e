"""A Lease object of the cluster, held by a process of a controller; and the lease of a run of the Kubernetes layer.

One run of that layer at a time, from any controller: every step that works on control hosts renews its lease. It is
free when the run released it, when its holder is a dead process of this same machine, or 15 minutes after its last
step by the API server's clock. Before there is a cluster, a lock on the first control host keeps two runs apart.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

from ..errors import GroundupError
from ..lifetime import identity, started, this_machine
from .access import kubeconfig_path
from .client import Api, ApiError
from .types import Object, resource_path

NAME, NAMESPACE = "groundup-kubernetes", "kube-system"
LASTS = timedelta(minutes=15)  # longer than a join or a restart of one control host
RENEWED = LASTS / 5  # by a step that may last longer
PATIENCE = 5.0  # seconds per request
_ATTEMPTS = 5  # workers of one run renew at the same moment
CONFLICT, MISSING = 409, 404
_LEASES = "coordination.k8s.io/v1"


class Lease:
    """The Lease ``name`` with holder ``me``. A write lasts ``seconds``; ``patience``: seconds per request."""

    def __init__(
        self, api: Api, *, namespace: str, name: str, me: str, seconds: float, patience: float | None = None
    ) -> None:
        self.name, self.me, self.seconds, self.patience = name, me, seconds, patience
        self._api, self._collection = api, resource_path(_LEASES, "leases", namespace=namespace)
        self._path = f"{self._collection}/{name}"

    def find(self) -> Object | None:
        """Return the Lease, None when there is none. Raises ApiError."""
        return self._api.find(self._path)

    def read(self) -> Object:
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
            "apiVersion": _LEASES,
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


def holder(lease: Object) -> str:
    """Return the holder of the lease as text for the operator."""
    machine, pid, _ = _parts(lease)
    host = machine.partition("/")[0]
    return f"process {pid} on {host}" if pid else host


def abandoned(lease: Object, *, rebooted: bool = False) -> bool:
    """Return whether the lease has no holder, or a dead process of this machine.

    ``rebooted``: a process of another boot of a machine of this name is dead, too. In a cluster, two may have one name.
    """
    machine, pid, begun = _parts(lease)
    host, boot, *_ = (*machine.split("/"), "")
    own, now, *_ = this_machine().split("/")
    former = rebooted and host == own and boot != now
    return not machine or former or (machine == this_machine() and started(int(pid)) != begun)


def _parts(lease: Object) -> tuple[str, str, str]:
    """Return the holder's machine, process id and start; all empty without a holder."""
    parts = str((lease.get("spec") or {}).get("holderIdentity") or "").split(":")
    return (parts[0], parts[1], parts[2]) if len(parts) >= 3 else (":".join(parts), "", "")


def of_site(site: str) -> list[str]:
    """Take or renew the lease in the cluster of ``site``, if it has one, for the run that started this worker.

    Returns a warning when the cluster does not answer: this run may be about to repair it. Raises GroundupError when
    another run holds the lease.
    """
    kubeconfig = kubeconfig_path(site)
    warning = hold(Api(kubeconfig, timeout=PATIENCE, patience=0.0)) if kubeconfig.is_file() else ""
    return [warning] if warning else []


@contextmanager
def kept(site: str) -> Iterator[list[str]]:
    """Hold the lease of ``site`` while the block runs, which may last longer. Yields and raises as `of_site`.

    One that is lost meanwhile is told by the run's next step.
    """
    warnings, ended = of_site(site), threading.Event()

    def renew() -> None:
        while not ended.wait(RENEWED.total_seconds()):
            with suppress(GroundupError):
                of_site(site)

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield warnings
    finally:
        ended.set()
        thread.join()


def hold(api: Api, *, run: int | None = None) -> str:
    """Take or renew the lease for process ``run``, by default the parent of this one.

    Returns why it could not be taken, "" when it was. Raises GroundupError when another run holds it.
    """
    lease = _lease(api, run)
    for _ in range(_ATTEMPTS):
        try:
            found = lease.find()
            if found is not None and not lease.is_ours(found) and not abandoned(found):
                # Time since its renewal, by the API server's clock alone.
                age = _changed(lease.write(found, dry_run=True)) - _changed(found)
                if age < LASTS:
                    raise _busy(found, LASTS - age)
            lease.write(found)
        except ApiError as error:
            if error.status not in {CONFLICT, MISSING}:  # changed or removed meanwhile: look again
                return f"the run does not hold {NAME}, because the cluster does not answer: {error.message}"
        else:
            return ""
    return f"the run does not hold {NAME}: it changes all the time"


def release(api: Api, *, run: int | None = None) -> None:
    """Release the lease if it is this run's. If the cluster does not answer, it expires."""
    _lease(api, run).release()


def _lease(api: Api, run: int | None) -> Lease:
    me, seconds = identity(run or os.getppid()), LASTS.total_seconds()
    return Lease(api, namespace=NAMESPACE, name=NAME, me=me, seconds=seconds)


def _changed(lease: Object) -> datetime:
    times = [entry["time"] for entry in lease["metadata"].get("managedFields", ()) if "time" in entry]
    return datetime.fromisoformat(max(times, default=lease["metadata"]["creationTimestamp"]))


def _busy(found: Object, left: timedelta) -> GroundupError:
    return GroundupError(
        f"another run of the Kubernetes layer is under way: {holder(found)}, since {found['spec'].get('acquireTime')}",
        where=f"Lease {NAMESPACE}/{NAME}",
        why="two at once could take two control hosts away at the same time, or one the host that the other adds",
        remedy=f"wait for it, or end that process; if it is dead, its lease is free in {left.total_seconds() / 60:.0f} "
        f"minutes, or at once after kubectl -n {NAMESPACE} delete lease {NAME}",
    )
