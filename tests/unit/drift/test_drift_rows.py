"""The table tells what differs once, the document all of it, the metrics each layer's number."""

from __future__ import annotations

from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.rows import (
    DriftRow,
    document,
    metrics,
    summary,
    table,
)

CHANGED = [
    DriftRow(layer="host", host=f"worker-{number}", what="set swappiness", remedy="run it") for number in range(5)
]
OTHER = DriftRow(layer="host", host="worker-1", what="x" * 200, remedy="run it")
SILENT = DriftRow(layer="host", host="worker-9", what="no route", unknown=True)
SCALED = DriftRow(layer="openstack", host="localhost", what="Deployment/nova", by="kubectl, 2026-11-29T12:00:00Z")


def test_hosts_with_one_difference_are_a_line_and_one_remedy_is_told_once() -> None:
    lines = table("lab", [*CHANGED, OTHER, SILENT, SCALED], "the plan is that of today").splitlines()
    assert [line.split("  ")[0] for line in lines[:3]] == ["layer", "host", "host"]
    assert "worker-0, worker-1, worker-2 and 2 more  set swappiness" in lines[1]
    assert lines[2].endswith("x…")
    assert lines[3].split() == ["remedy:", "run", "it"]
    assert lines[4].endswith("unknown: no route")
    assert lines[5].endswith("Deployment/nova (changed by kubectl, 2026-11-29T12:00:00Z)")
    assert lines[-2:] == ["the plan is that of today", "lab: differs: host 6, openstack 1; unknown: host 1"]


def test_of_many_differences_of_a_layer_the_first_are_shown_and_the_others_counted() -> None:
    rows = [DriftRow(layer="openstack", host="localhost", what=f"Secret/{number}") for number in range(57)]
    lines = table("lab", [*rows, SILENT], "").splitlines()
    assert lines[20].endswith("Secret/19")
    assert lines[21] == "openstack             and 37 more: output=json has all"
    assert lines[22].endswith("unknown: no route")


def test_a_site_that_is_as_its_file_says_is_one_line() -> None:
    assert table("lab", [], "the plan is that of today") == "lab: nothing differs from the site file"
    assert summary("lab", [SILENT]) == "lab: unknown: host 1", "not clean"


def test_the_document_says_the_state() -> None:
    states = [document("lab", "now", rows, "")["state"] for rows in ([], [SILENT], [SILENT, SCALED])]
    assert states == ["clean", "unknown", "drift"]
    found = document("lab", "now", [*CHANGED, SILENT], "")
    assert found["counts"] == {"differs": 5, "unknown": 1}
    assert len(found["rows"]) == 6


def test_metrics_have_each_layer_also_those_without_a_difference() -> None:
    lines = metrics([*CHANGED, SILENT], ["plan", "host"], now=1700000000.4).splitlines()
    assert "groundup_drift_looked_timestamp_seconds 1700000000" in lines
    assert 'groundup_drift_objects{part="plan"} 0' in lines
    assert 'groundup_drift_objects{part="host"} 5' in lines
    assert 'groundup_drift_unknown{part="host"} 1' in lines
    assert "# TYPE groundup_drift_objects gauge" in lines
