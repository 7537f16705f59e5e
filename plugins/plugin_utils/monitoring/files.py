"""All files that the monitoring host has of the plan, by their path below one directory."""

from __future__ import annotations

import json
import re

import yaml

from ...module_utils._base.files import HEADER
from ..plan.types import Plan
from .dashboards import vmui_files
from .logs import log_files, log_rules
from .page import PAGE, page
from .routing import routing
from .rules import rules
from .targets import scrape, targets

ROUTING = "alertmanager.yml"
WRITTEN = (
    "dashboards/*",
    PAGE,
    "door/*",
    "log-rules/*.yml",
    "targets/*.json",
    "rules/*.yml",
    "vmui/*.json",
    "scrape.yml",
    ROUTING,
)  # all that `files` and `grafana_files` may name


def files(plan: Plan) -> dict[str, str]:
    """Return path and text of each file; none on a site without monitoring."""
    if plan.monitoring is None:
        return {}
    panels = vmui_files(plan)
    buckets = sorted(set(re.findall(r"\w+_bucket\b", "".join(panels.values()))))
    documents = {
        "scrape.yml": scrape(plan, interval=plan.monitoring.interval, buckets=buckets),
        ROUTING: routing(plan.monitoring),
    }  # fmt: skip
    if plan.monitoring.logs:
        documents["log-rules/logs.yml"] = log_rules()
    documents |= {f"rules/{layer}.yml": rule for layer, rule in rules(plan).items()}
    return {
        **{f"targets/{layer}.json": json.dumps(each, indent=2) + "\n" for layer, each in targets(plan).items()},
        **log_files(plan),
        **panels,
        PAGE: page(plan, interval=plan.monitoring.interval),
        **{path: HEADER + yaml.safe_dump(each, sort_keys=False, width=120) for path, each in documents.items()},
    }
