"""One run of `resources` at a time changes a cloud, from any control node: two would make one thing twice.

The same cluster has what former runs made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING

from ...errors import GroundupError
from ...kube import held_lease
from ...kube.access import kubeconfig_path
from ...kube.client import Api
from ...process import InterruptedRunError
from . import ledger

if TYPE_CHECKING:
    from ...plan.types import Plan

_SECONDS = 60.0  # how long another control node waits for a silent run


class AnotherRunError(GroundupError):
    """Another run changes the resources of this cloud, or may."""


_WORK = held_lease.Work(
    lease=held_lease.RESOURCES, called="run of resources", refused=AnotherRunError, lost=AnotherRunError
)


def kept(plan: Plan) -> ledger.Ledger:
    """Return what former runs made; on a control node without the cluster's kubeconfig, marks alone count.

    Raises ApiError, GroundupError.
    """
    kubeconfig = kubeconfig_path(plan.site)
    return ledger.of_cluster(Api(kubeconfig), plan.openstack.namespace) if kubeconfig.is_file() else ledger.Ledger()


@contextmanager
def alone(plan: Plan, *, say: Callable[[str], None], seconds: float = _SECONDS) -> Iterator[Callable[[], None]]:
    """Hold the lease of the site's resources in its cluster; yield what raises InterruptedRunError once it is lost.

    Raises AnotherRunError, ApiError.
    """
    kubeconfig, lost = kubeconfig_path(plan.site), Event()
    if not kubeconfig.is_file():
        raise AnotherRunError(
            "this control node has no login to the site's cluster", where=str(kubeconfig),
            why="the cluster knows whether another run makes resources, and two would make one thing twice",
            remedy="run the playbook groundup.cloud.kubernetes, or run this on the control node that has it",
        )  # fmt: skip

    def go_on() -> None:
        if lost.is_set():
            raise InterruptedRunError("another run of resources")

    with held_lease.held(
        Api(kubeconfig), _WORK, namespace=plan.openstack.namespace, seconds=seconds, say=say, lost=lost.set
    ):  # fmt: skip
        yield go_on
