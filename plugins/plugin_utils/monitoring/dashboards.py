"""Dashboards from the plan, for the store's own page (vmui) and as JSON for Grafana."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import yaml

from ...module_utils._base.files import HEADER
from ..plan.types import Plan
from .capacity import CAPACITY
from .cloud_state import CLOUD
from .panels import DashboardRecord, PanelRecord, Unit
from .panels_hosts import HOSTS, UPKEEP
from .panels_layers import CEPH, EDGE, KUBERNETES
from .panels_own import FIRING, MONITORING, SITE
from .rules import alerts_of

DASHBOARDS: dict[str, DashboardRecord] = {
    "site": SITE, "hosts": HOSTS, "kubernetes": KUBERNETES, "edge": EDGE, "ceph": CEPH,
    "cloud": CLOUD, "upkeep": UPKEEP, "capacity": CAPACITY, "monitoring": MONITORING,
}  # fmt: skip
_UNITS: dict[Unit, str] = {  # Grafana's names
    "": "short", "%": "percent", "/s": "cps", "ms": "ms", "days": "d", "MiB": "mbytes", "GiB": "gbytes",
    "MiB/s": "MiBs",
}  # fmt: skip
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_SCHEMA = 42  # of Grafana 12; newer ones migrate it
_WIDTH, _HEIGHT = 12, 8  # of a panel in Grafana's 24 columns

Present = list[tuple[PanelRecord, str, list[str]]]  # panel, query, alerts that the site has of it


def dashboards_of(plan: Plan) -> Iterator[tuple[str, DashboardRecord, Present]]:
    """Yield name, record and panels of each dashboard that has a panel on this site."""
    alerts = {name for name, _ in alerts_of(plan)}
    for name, one in DASHBOARDS.items():
        panels = [
            (panel, query, [alert for alert in panel.alerts if alert in alerts])
            for panel in one.panels
            if (query := panel.expression(plan))
        ]
        if panels:
            yield name, one, panels


def vmui_files(plan: Plan) -> dict[str, str]:
    """Return path and text of the store's dashboards; its page shows them in the order of their files."""
    return {
        f"vmui/{number}-{name}.json": _text({"title": one.title, "rows": [_row(one, panels)]})
        for number, (name, one, panels) in enumerate(dashboards_of(plan), 1)
    }


def grafana_files(plan: Plan) -> dict[str, str]:
    """Return path and text of dashboards for Grafana, and of the file that has it read them."""
    if plan.monitoring is None:
        return {}
    provider = {
        "name": f"groundup-{plan.site}", "folder": plan.site, "type": "file", "allowUiUpdates": False,
        "options": {"path": f"/var/lib/grafana/dashboards/groundup-{plan.site}"},
    }  # fmt: skip
    provisioning = yaml.safe_dump({"apiVersion": 1, "providers": [provider]}, sort_keys=False)
    return {
        **{
            f"dashboards/{name}.json": _text(_grafana(plan.site, name, one, panels))
            for name, one, panels in dashboards_of(plan)
        },
        "dashboards/provisioning.yml": HEADER + provisioning,
    }


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"


def _row(one: DashboardRecord, panels: Present) -> dict[str, Any]:
    return {
        "title": one.what,
        "panels": [
            {
                "title": panel.title, "description": described(panel, alerts), "unit": panel.unit, "expr": [query],
                "alias": [_legend(panel)], "width": 6,
            }
            for panel, query, alerts in panels
        ],
    }  # fmt: skip


def _grafana(site: str, name: str, one: DashboardRecord, panels: Present) -> dict[str, Any]:
    return {
        "uid": f"{name}-{site}"[:40],  # Grafana's limit
        "title": f"{site}: {one.title}",
        "description": one.what,
        "tags": [f"groundup-{site}"],
        "schemaVersion": _SCHEMA,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "label": "Store", "type": "datasource", "query": "prometheus"}]
        },
        "annotations": {
            "list": [
                {
                    "name": "Alerts", "datasource": _SOURCE, "enable": False, "iconColor": "red", "expr": FIRING,
                    "titleFormat": "{{alertname}}", "textFormat": "{{object}}",
                }
            ]
        },
        "links": [
            {"type": "dashboards", "title": site, "tags": [f"groundup-{site}"], "keepTime": True, "includeVars": True}
        ],
        "panels": [_panel(number, *each) for number, each in enumerate(panels)],
    }  # fmt: skip


def _panel(number: int, panel: PanelRecord, query: str, alerts: list[str]) -> dict[str, Any]:
    place = {"x": number % 2 * _WIDTH, "y": number // 2 * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {
        "id": number + 1, "type": "timeseries", "title": panel.title, "description": described(panel, alerts),
        "datasource": _SOURCE, "gridPos": place,
        "fieldConfig": {"defaults": {"unit": _UNITS[panel.unit], "custom": {"showPoints": "never"}}, "overrides": []},
        "options": {"tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [{"refId": "A", "datasource": _SOURCE, "expr": query, "legendFormat": _legend(panel)}],
        "links": [{"title": f"Alert {name}", "url": _explored(name)} for name in alerts],
    }  # fmt: skip


def described(panel: PanelRecord, alerts: list[str] | tuple[str, ...]) -> str:
    """Return what a panel shows and which alerts judge it."""
    return f"{panel.what}. Judged by {', '.join(alerts)}" if alerts else panel.what


def _legend(panel: PanelRecord) -> str:
    return panel.legend.replace("{", "{{").replace("}", "}}")


def _explored(alert: str) -> str:
    """Return where Grafana shows when an alert fired, of the data source that the dashboard reads."""
    query = {"refId": "A", "expr": f'ALERTS{{alertname="{alert}"}}'}
    pane = {"datasource": "SOURCE", "queries": [query], "range": {"from": "now-24h", "to": "now"}}
    panes = urllib.parse.quote(json.dumps({"alert": pane}, separators=(",", ":")))
    return f"/explore?schemaVersion=1&panes={panes.replace('SOURCE', '${datasource}')}"
