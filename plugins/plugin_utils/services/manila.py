"""Manila: shared file systems. Only API and scheduler: the site must write a backend for shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from . import dialects
from .parts import WORKERS, ChartNames, api_values, merge, queued, resources, uwsgi
from .probing import Client, probe
from .record import Advice, PublicApi, ServiceRecord, Values
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_NAMES = ChartNames(probes=None, labels=("api", "scheduler", "job"))
_VERSION = {"X-OpenStack-Manila-API-Version": "2.65"}  # since 2.60 the URL has no project


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values. The charts' backend would start a machine per share network, from a missing image."""
    own = {
        "conf": {
            "manila": queued("manila")["manila"],
            "manila_api_uwsgi": uwsgi(sizes.workers["manila"]),
        },
        "pod": {
            "replicas": {"scheduler": sizes.pods["manila"]},
            "resources": {"scheduler": resources(memory="128Mi", limit="1Gi", cpu=sizes.cpu(50))},
        },
        "manifests": {
            "deployment_data": False,
            "deployment_share": False,
            "job_bootstrap": False,
            "pod_rally_test": False,
            "statefulset_share": False,
        },
    }
    return merge(api_values(plan, sizes, "manila", memory="256Mi", limit="1Gi", cpu=100, names=_NAMES), own)


def _ask(client: Client) -> Iterator[Check]:
    """Verify that shares are listed and a scheduler is up."""
    client.call("GET", "/shares?limit=1")
    yield judge((client.call("GET", "/services").body or {}).get("services") or ())


def judge(listed: Iterable[Mapping[str, Any]]) -> Check:
    """Check that a scheduler is up; entries of deleted pods stay in the list."""
    ok = any(one.get("binary") == "manila-scheduler" and one.get("state") == "up" for one in listed)
    detail = "shares are listed, a scheduler is up" if ok else "nothing is heard of a scheduler"
    return Check(name="scheduler", ok=ok, object="Deployment/manila-scheduler", detail=detail)


SERVICE = ServiceRecord(
    name="manila",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(
        type="sharev2",
        official="shared-file-system",
        host="share",
        path="/v2",
        health="/healthcheck",
        port=8786,
        node_port=30786,
    ),
    images=dict.fromkeys(("manila_api", "manila_db_sync", "manila_scheduler"), "openstack-more"),
    workers=WORKERS,
    dialect=dialects.manila,
    advice=(
        Advice(
            name="shares-without-a-backend",
            when=lambda plan, _: "manila" not in plan.openstack.overrides,
            what="Manila has no backend: no share can be made",
            why="this version brings its API and scheduler; CephFS and NFS are no layer of it yet",
            remedy="write one in openstack.overrides.manila, with OpenStack-Helm's chart, which has manila-share",
        ),
    ),
    values=values,
    verify=probe("manila", _ask, headers=_VERSION),
)
