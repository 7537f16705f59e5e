"""Allow one run of the Kubernetes layer at a time, from any controller, by a Lease in the cluster.

Every step that works on control hosts renews it. It is free when the run released it, when its holder is a dead
process of this same machine, or 15 minutes after its last step by the API server's clock. Before there is a cluster,
a lock on the first control host keeps two runs apart.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from ..errors import GroundupError
from .access import kubeconfig_path
from .client import Api, ApiError
from .holder import abandoned, holder, identity
from .lease import CONFLICT, MISSING, Lease
from .types import Object

NAME, NAMESPACE = "groundup-kubernetes", "kube-system"
LASTS = timedelta(minutes=15)  # longer than a join or a restart of one control host
PATIENCE = 5.0  # seconds per request
_ATTEMPTS = 5  # workers of one run renew at the same moment


def of_site(site: str) -> list[str]:
    """Take or renew the lease in the cluster of ``site``, if it has one, for the run that started this worker.

    Returns a warning when the cluster does not answer: this run may be about to repair it. Raises GroundupError when
    another run holds the lease.
    """
    kubeconfig = kubeconfig_path(site)
    warning = hold(Api(kubeconfig, timeout=PATIENCE, patience=0.0)) if kubeconfig.is_file() else ""
    return [warning] if warning else []


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
