"""Dashboards follow from the plan: panels of what the site has, of metrics that its targets tell."""

from __future__ import annotations

import json
import re
import urllib.parse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.action.plan import ActionModule
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.dashboards import (
    DASHBOARDS,
    dashboards_of,
    grafana_files,
    vmui_files,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.panels import PanelRecord
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import example

from .recorded import unknown
from .sites import WHOLE, planned

PANELS = [panel for one in DASHBOARDS.values() for panel in one.panels]
# Keys that VictoriaMetrics reads, of a dashboard, a row and a panel.
READ = ({"title", "rows"}, {"title", "panels"}, {"title", "description", "unit", "expr", "alias", "width"})


def shown(plan: Plan) -> dict[str, dict[str, str]]:
    """Return the query of each panel by dashboard and title."""
    return {name: {panel.title: query for panel, query, _ in panels} for name, _, panels in dashboards_of(plan)}


def grafana(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return Grafana's dashboards by name."""
    return {
        path.removeprefix("dashboards/").removesuffix(".json"): json.loads(text)
        for path, text in grafana_files(plan).items()
        if path.endswith(".json")
    }


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_a_panel_asks_what_targets_of_the_plan_tell(panel: PanelRecord) -> None:
    query = panel.expression(planned("ha", **WHOLE))
    assert query
    assert unknown(query, *re.findall(r"\{(\w+)\}", panel.legend)) == set()


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_asks_what_targets_of_the_plan_tell(name: str) -> None:
    assert unknown(ALERTS[name].expression(planned("ha", **WHOLE))) == set()


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ('rate(node_cpu_second_total{job="node"}[5m])', "node_cpu_second_total"),
        ('sum by (cpus) (rate(node_cpu_seconds_total{job="node"}[5m]))', "cpus"),
        ('node_cpu_seconds_total{job="node",modes="idle"}', "modes"),
        ('node_load1{job="etcd"}', "node_load1"),
        ('node_load1{job=~"node|etcd"}', "node_load1"),
        ("1 + ups", "ups"),
    ],
)
def test_what_nobody_tells_is_found(query: str, fault: str) -> None:
    assert unknown(query) == {fault}


def test_a_site_has_dashboards_of_its_layers_alone() -> None:
    assert shown(planned("ha", **WHOLE)).keys() == DASHBOARDS.keys()
    lab = shown(planned("lab"))
    assert lab.keys() == DASHBOARDS.keys() - {"ceph", "capacity", "cloud"}
    assert not {"Health of Ceph", "Space of Ceph"} & lab["site"].keys()
    assert not [title for title in lab["monitoring"] if "logs" in title]
    assert lab["upkeep"].keys() == {"Age of the newest backup", "Certificates that end soonest"}
    assert "Requests to public names" not in shown(planned("lab", openstack__services=[]))["edge"]


def test_public_names_of_panels_are_the_sites() -> None:
    edge = shown(planned("lab"))["edge"]
    assert 'proxy=~"kubernetes|identity"' in edge["Servers behind names"]
    assert 'proxy=~"identity"' in edge["Requests to public names"]


def test_a_site_without_monitoring_has_no_dashboard() -> None:
    plan = make_plan(build_site(example("ha")))
    assert grafana_files(plan) == files(plan) == {}


def test_a_panel_says_what_it_shows_and_names_the_alerts_that_the_site_has() -> None:
    for one in DASHBOARDS.values():
        assert len({panel.title for panel in one.panels}) == len(one.panels)
    assert {alert for panel in PANELS for alert in panel.alerts} <= {*ALERTS, "TargetDown"}
    for panel in PANELS:
        assert panel.what[-1] != "."
        assert "\n" not in panel.what
    quiet, told = (
        {panel["title"]: panel["description"] for panel in json.loads(vmui_files(plan)[path])["rows"][0]["panels"]}
        for plan, path in ((planned("ha"), "vmui/7-upkeep.json"), (planned("ha", **WHOLE), "vmui/7-upkeep.json"))
    )
    assert "Judged by" not in quiet["Age of the newest backup"]
    assert told["Age of the newest backup"].endswith(". Judged by BackupOld, BinaryLogsOld")


def test_the_store_reads_its_dashboards_and_shows_the_site_first() -> None:
    written = vmui_files(planned("ha", **WHOLE))
    assert [path.partition("-")[2] for path in sorted(written)] == [f"{name}.json" for name in DASHBOARDS]
    for text in written.values():
        document = json.loads(text)
        assert document.keys() == READ[0]
        for row in document["rows"]:
            assert row.keys() == READ[1]
            assert all(panel.keys() == READ[2] for panel in row["panels"])


def test_grafana_takes_each_dashboard_from_any_data_source() -> None:
    plan = planned("ha", **WHOLE)
    found = grafana(plan)
    assert list(found) == list(DASHBOARDS)
    assert len({one["uid"] for one in found.values()}) == len(found)
    for name, one in found.items():
        assert len(one["uid"]) <= 40
        assert one["title"].startswith("ha: ")
        assert [variable["name"] for variable in one["templating"]["list"]] == ["datasource"]
        assert [panel["targets"][0]["expr"] for panel in one["panels"]] == list(shown(plan)[name].values())
        assert {panel["datasource"]["uid"] for panel in one["panels"]} == {"${datasource}"}
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in one["panels"]]
        assert len(set(places)) == len({panel["id"] for panel in one["panels"]}) == len(places)


def test_a_panel_links_to_when_its_alert_fired() -> None:
    panels = grafana(planned("ha"))["hosts"]["panels"]
    ((link,),) = (panel["links"] for panel in panels if panel["title"] == "Clock")
    assert link["title"] == "Alert ClockOff"
    (panes,) = urllib.parse.parse_qs(urllib.parse.urlsplit(link["url"]).query)["panes"]
    pane = json.loads(panes)["alert"]
    assert pane["datasource"] == "${datasource}"
    assert [query["expr"] for query in pane["queries"]] == ['ALERTS{alertname="ClockOff"}']


def test_grafana_is_told_where_the_dashboards_of_this_site_lie() -> None:
    (provider,) = yaml.safe_load(grafana_files(planned("ha"))["dashboards/provisioning.yml"])["providers"]
    assert (provider["type"], provider["folder"]) == ("file", "ha")
    assert provider["options"]["path"].endswith("/groundup-ha")


def test_the_state_directory_has_both_and_loses_those_of_a_layer_that_left(tmp_path: Path) -> None:
    action: Any = ActionModule.__new__(ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    written = tmp_path / "monitoring"
    action._write(planned("ha"), tmp_path)
    assert (written / "dashboards/ceph.json").is_file()
    assert (written / "vmui/5-ceph.json").is_file()
    action._write(planned("ha", storage__backend="cephadm"), tmp_path)
    assert not (written / "dashboards/ceph.json").exists()
    assert {path.name for path in (written / "vmui").iterdir()} == {
        path.partition("/")[2] for path in vmui_files(planned("ha", storage__backend="cephadm"))
    }


def test_the_monitoring_host_is_given_the_stores_own_alone() -> None:
    given = files(planned("ha"))
    assert vmui_files(planned("ha")).items() <= given.items()
    assert not [path for path in given if path.startswith("dashboards/")]
