"""Placement: each host's resources, and their allocations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..health.verification import Check
from .parts import WORKERS, ChartNames, api_values, merge, uwsgi
from .probing import Client, probe
from .record import PublicApi, ServiceRecord, Values
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_NAMES = ChartNames(probes=None, labels=("api", "job"))  # its probes cannot be set
_VERSION = {"OpenStack-API-Version": "placement 1.39"}


def values(plan: Plan, sizes: Sizes) -> Values:
    own = {"conf": {"placement_api_uwsgi": uwsgi(sizes.workers["placement"])}}
    return merge(api_values(plan, sizes, "placement", memory="256Mi", limit="1Gi", cpu=250, names=_NAMES), own)


def _ask(client: Client) -> Iterator[Check]:
    """Verify that it answers a query for a server's candidates, over all inventories, aggregates and allocations."""
    answer = client.call("GET", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:64&limit=1").body or {}
    providers = client.call("GET", "/resource_providers").body or {}
    yield judge(answer.get("allocation_requests"), len(providers.get("resource_providers") or ()))


def judge(candidates: object, providers: int) -> Check:
    """Check that the query was answered. No candidates is an answer: there may be no hypervisor, or no room."""
    found = isinstance(candidates, list)
    said = f"{'room' if candidates else 'no room'} for a small server on {providers} hosts"
    return Check(
        name="candidates", ok=found, object="Deployment/placement-api",
        detail=said if found else "the answer has no allocation requests",
    )  # fmt: skip


SERVICE = ServiceRecord(
    name="placement",
    needs=("keystone",),
    uses=("database", "cache"),
    api=PublicApi(type="placement", host="placement", port=8778, node_port=30778, for_operators=True),
    images={"placement": "openstack", "placement_db_sync": "openstack"},
    workers=WORKERS,
    values=values,
    verify=probe("placement", _ask, headers=_VERSION),
)
