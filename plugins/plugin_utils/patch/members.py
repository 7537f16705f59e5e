"""Databases and queues whose members are pods: whether all are in, and whether they do without those on one host.

A member with a volume on its host goes away with it, and comes back with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..health.context import VerifierContext
from ..kube.client import Api
from ..paths import state_dir
from ..plan.types import Plan
from ..services import RECORDS


def unwell(plan: Plan, api: Api) -> Iterator[str]:
    """Yield what members lack to be all in, by the word of the members themselves. Raises GroundupError."""
    for name, context in _clusters(plan, api):
        verify = RECORDS[name].verify
        checks = verify(context).checks if verify else ()
        yield from (f"{RECORDS[name].label}: {check.detail}" for check in checks if not check.ok)


def lost(plan: Plan, api: Api, host: str) -> Iterator[str]:
    """Yield which of them have no quorum without their members on ``host``. Raises ApiError."""
    for name, context in _clusters(plan, api):
        _, wanted = context.workload()
        nodes = {pod: (one.get("spec") or {}).get("nodeName") for pod, one in context.pods().items()}
        here = sorted(pod for pod, node in nodes.items() if node == host)
        left = [pod for pod in context.running() if pod not in here]
        if here and len(left) <= wanted // 2:
            yield f"{RECORDS[name].label}: without {', '.join(here)}, {len(left)} of {wanted} members are left"


def _clusters(plan: Plan, api: Api) -> Iterator[tuple[str, VerifierContext]]:
    """Yield the record and the context of each of them that is there. Raises ApiError."""
    authority = state_dir(plan.site) / "ca.crt"
    for release in plan.openstack.releases:
        record = RECORDS.get(release.verify)
        context = VerifierContext(api=api, plan=plan, release=release, values={}, authority=authority)
        if record and record.quorum and context.workload()[1]:
            yield record.name, context
