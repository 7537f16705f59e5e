"""Scrape targets from the plan: file_sd, one file a layer, and the configuration that reads them.

Prometheus and VictoriaMetrics read both. Paths are relative to the configuration's directory.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from ...module_utils._monitoring.verify import LOGS
from ..plan.types import Plan
from .jobs import JOBS, Credential, JobRecord, counted, writers
from .logs import SILENT

# What the monitoring host alone tells. Rules take it of any host: one that is somebody else's would hide an alert.
_WHOLE_SITE = (
    "groundup_(backup|capacity|cronjob|drift|heal|hypervisor|nodes|redfish|workloads)(_.+)?|redfish_.+|"
    "kube_(daemonset|deployment|pod|statefulset)_.+"
)


def targets(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Return the targets of each layer, one group a target: its labels say layer, job and object."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in counted(plan):
        job = JOBS[name]
        for host in job.hosts(plan):
            labels = {"job": name, "layer": job.layer, "object": host.name, "rack": host.rack}
            found.setdefault(job.layer, []).append({"targets": [job.address(plan, host)], "labels": labels})
    return found


def expected(plan: Plan, *, without: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return job and object of each target, with the remedy when it is silent; not of the hosts ``without``.

    A host that writes logs is one of the job `logs`.

    Where one of a job's targets is enough, that may be the one of a host that is set aside.
    """
    found = []
    for name in counted(plan):
        job, hosts = JOBS[name], JOBS[name].hosts(plan)
        there = [host for host in hosts if host.name not in without]
        found += [
            {"job": name, "object": host.name, "remedy": job.remedy, "one_answers": job.one_answers}
            for host in (hosts if there and job.one_answers else there)
        ]
    return found + [
        {"job": LOGS, "object": host.name, "remedy": SILENT, "one_answers": False}
        for host in writers(plan)
        if host.name not in without
    ]


def scrape(plan: Plan, *, interval: int, buckets: Collection[str]) -> dict[str, Any]:
    """Return the scrape configuration: one job each, which takes its own targets out of its layer's file.

    Of histograms, ``buckets`` (names of metrics) are kept: those of an API server are most of all series.
    """
    own = plan.monitoring.host if plan.monitoring else ""
    return {
        "global": {"scrape_interval": f"{interval}s", "external_labels": {"site": plan.site}},
        "scrape_configs": [_job(name, JOBS[name], buckets, own=own) for name in counted(plan)],
    }


def _job(name: str, job: JobRecord, buckets: Collection[str], *, own: str) -> dict[str, Any]:
    asked, whole = "__tmp_asked", "__tmp_whole"
    return {
        "job_name": name,
        "metrics_path": job.path,
        **_way(job.credential),
        "file_sd_configs": [{"files": [f"targets/{job.layer}.json"]}],
        "relabel_configs": [{"action": "keep", "source_labels": ["job"], "regex": name}],
        "metric_relabel_configs": [
            {"target_label": whole, "replacement": ""},  # what a target has set itself
            {"source_labels": ["object"], "regex": re.escape(own), "target_label": whole, "replacement": "1"},
            {"action": "drop", "source_labels": [whole, "__name__"], "regex": f";({_WHOLE_SITE})"},
            {"source_labels": ["__name__"], "regex": "|".join(buckets), "target_label": asked, "replacement": "1"},
            {"action": "drop", "source_labels": [asked, "__name__"], "regex": ";.+_bucket"},
            {"action": "labeldrop", "regex": f"{asked}|{whole}"},
        ],
    }


def _way(credential: Credential) -> dict[str, Any]:
    if credential == "none":
        return {"scheme": "http"}
    secured: dict[str, Any] = {"scheme": "https", "tls_config": {"ca_file": f"tls/{credential}-ca.crt"}}
    if credential == "kubernetes":
        return secured | {"authorization": {"credentials_file": "tls/kubernetes.token"}}
    secured["tls_config"] |= {"cert_file": f"tls/{credential}.crt", "key_file": f"tls/{credential}.key"}
    return secured
