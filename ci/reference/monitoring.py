"""Tables of docs/monitoring.md, from the records of jobs, alerts and dashboards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.dashboards import DASHBOARDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.jobs import JOBS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

_LOGIN = {
    "monitoring": "HTTPS, client certificate of monitoring", "kubernetes": "HTTPS, a token of the cluster",
    "none": "HTTP",
}  # fmt: skip


def alerts(_: Path) -> Iterator[str]:
    """Yield the table of alerts; a word in italics is a label of the series."""
    yield "| alert | layer | severity | after | what | why | what to do |"
    for name, one in ALERTS.items():
        what, remedy = (re.sub(r"\{(\w+)\}", r"*\1*", text) for text in (one.what, one.remedy))
        yield f"| `{name}` | {one.layer} | {one.severity} | {one.after} | {what} | {one.why} | {remedy} |"


def jobs(root: Path) -> Iterator[str]:
    """Yield the table of jobs."""
    plan = make_plan(load_site(root / "inventories/ha/site.yml"))
    yield "| job | layer | what | port and path | how |"
    for name, one in JOBS.items():
        how = f"{_LOGIN[one.credential]}, on loopback" if one.loopback else _LOGIN[one.credential]
        yield f"| `{name}` | {one.layer} | {one.what} | {one.number(plan)} `{one.path}` | {how} |"


def panels(_: Path) -> Iterator[str]:
    """Yield the table of panels; a panel of two dashboards is told with the first."""
    yield "| dashboard | panel | unit | what | judged by |"
    told = set[str]()
    for one in DASHBOARDS.values():
        for panel in one.panels:
            if panel.title not in told:
                alerts = ", ".join(f"`{name}`" for name in panel.alerts)
                yield f"| {one.title} | {panel.title} | {panel.unit or '-'} | {panel.what} | {alerts or '-'} |"
            told.add(panel.title)
