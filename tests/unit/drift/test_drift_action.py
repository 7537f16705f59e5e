"""The action ends with the state that was found; what ends the look itself is unknown, never clean."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import drift
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift import beside, dry_runs, heal
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.rows import DriftRow
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import HealPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status import report
from ansible_collections.groundup.cloud.tests.unit.backup.test_timer import WATCHED

SITE = COLLECTION / "inventories/cloud/site.yml"
PLAN = site_plan(SITE)
GROUPS = {"all": ["worker-1"], "seed": ["seed-1"]}
LATER = DriftRow(layer="host", host="worker-2", what="set swappiness")
FIRST = DriftRow(layer="plan", host="localhost", what="plan.json")


def act(monkeypatch: pytest.MonkeyPatch, rows: list[DriftRow], **given: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the result and what was printed, for dry runs that say ``rows``."""
    printed: list[str] = []
    heard: list[str] = []

    def runs(_: str, names: list[str], *, absent: list[str]) -> list[DriftRow]:
        heard.extend(absent)
        assert "ironic" not in names, "the site has none"
        return rows

    monkeypatch.setattr(drift, "live_plan", lambda plan: plan)
    monkeypatch.setattr(drift, "load_site", lambda _: PLAN)
    monkeypatch.setattr(report, "of_answers", lambda *_: {})
    monkeypatch.setattr(dry_runs, "rows", runs)
    action = object.__new__(drift.ActionModule)
    action._display = SimpleNamespace(display=printed.append)
    said: dict[str, Any] = {
        name: {"drift_host": {"parts": {}} if name != "worker-1" else {"fault": "no route"}} for name in PLAN.hosts
    }
    action.variables = {"groups": GROUPS, "hostvars": said}
    asked = {"step": "compare", "site_file": str(SITE), "result": "drift_host", "output": "table", "path": None}
    result = action.work({**asked, "found": {}, **given})
    assert heard == (["worker-1"] if "drift" in result and (asked | given)["step"] == "compare" else heard)
    return result, printed


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    (tmp_path / PLAN.site).mkdir()
    return tmp_path / PLAN.site


def test_rows_are_in_the_order_of_layers_and_the_file_has_the_document(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, printed = act(monkeypatch, [LATER, FIRST], output="json", path=str(tmp_path / "drift.json"))
    found = json.loads(printed[0])
    assert [row["layer"] for row in found["rows"]] == ["plan", "host"]
    assert found == json.loads((tmp_path / "drift.json").read_text()) == result["drift"]
    assert 'groundup_drift_objects{part="host"} 1' in result["metrics"]
    assert "failed" not in result, "the monitoring host is told before"


@pytest.mark.parametrize(
    ("rows", "said"), [([LATER], "the plan is that of 20"), ([FIRST], "the site file or this collection changed since")]
)
def test_it_is_told_whether_the_plan_changed(
    monkeypatch: pytest.MonkeyPatch, state: Path, rows: list[DriftRow], said: str
) -> None:
    assert act(monkeypatch, rows)[0]["drift"]["plan"] == "no run has written a plan yet"
    (state / "plan.json").touch()
    assert act(monkeypatch, rows)[0]["drift"]["plan"].startswith(said)


@pytest.mark.parametrize(("state", "ends"), [("clean", set()), ("drift", {"failed"}), ("unknown", {"unreachable"})])
def test_the_judgement_is_the_exit_code(monkeypatch: pytest.MonkeyPatch, state: str, ends: set[str]) -> None:
    result, _ = act(monkeypatch, [], step="judge", found={"state": state, "summary": "so it is"})
    assert {name for name in ("failed", "unreachable") if result.get(name)} == ends
    assert result["msg"] == "so it is"


def healed(monkeypatch: pytest.MonkeyPatch, rows: list[DriftRow], **given: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the result of mending ``rows``, after which nothing is left."""
    result, _ = act(monkeypatch, rows)
    plan = replace(PLAN, monitoring=replace(WATCHED, heal=HealPlan(layers=("host",), window="02:00-05:00")))
    monkeypatch.setattr(sys.modules[__name__], "PLAN", plan)
    return act(monkeypatch, [], step="heal", found=result["drift"], **given)


def test_what_runs_unattended_is_compared_again_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"host": heal.HealedLayer(window="", at=7, rows=())}
    monkeypatch.setattr(heal, "heal", lambda *_, **__: (["host"], "", record))
    result, printed = healed(monkeypatch, [LATER])
    assert (result["changed"], result["drift"]["state"]) == (True, "clean")
    assert 'groundup_drift_objects{part="host"} 0\n' in result["metrics"]
    assert 'groundup_heal_last_timestamp_seconds{part="host"} 7\n' in result["metrics"]
    assert printed[-1] == "healed by itself: host: nothing differs any more"


def test_what_may_not_run_leaves_the_comparison_as_it_is_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heal, "heal", lambda *_, **__: ([], "it is noon", {}))
    result, printed = healed(monkeypatch, [LATER])
    assert (result["changed"], result["drift"]["state"]) == (False, "drift")
    assert 'groundup_drift_objects{part="host"} 1\n' in result["metrics"]
    assert 'groundup_heal_failed{part="host"} 0\n' in result["metrics"]
    assert printed == ["healed by itself: nothing: it is noon"]


def test_healing_that_cannot_begin_is_a_failure_of_its_layers_and_the_comparison_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise GroundupError("no password", where="here", why="it is", remedy="give it")

    monkeypatch.setattr(heal, "heal", broken)
    result, _ = healed(monkeypatch, [LATER])
    assert 'groundup_heal_failed{part="host"} 1\n' in result["metrics"]
    assert 'groundup_drift_objects{part="host"} 1\n' in result["metrics"]


def test_a_look_that_cannot_begin_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*_: Any) -> None:
        raise GroundupError("another site's state", where="here", why="it is", remedy="none")

    monkeypatch.setattr(site_identity, "refuse_other", other)
    result, printed = act(monkeypatch, [])
    assert result["unreachable"]
    assert "another site's state" in result["msg"]
    assert not printed


def test_a_cluster_that_is_silent_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: Any) -> None:
        raise GroundupError("the Kubernetes API does not answer", where="10.0.0.1", why="it is", remedy="mend it")

    monkeypatch.setattr(beside, "asked", silent)
    result, _ = act(monkeypatch, [])
    (row,) = result["drift"]["rows"]
    assert (row["layer"], row["unknown"], row["remedy"]) == ("kubernetes", True, "mend it")
    assert result["drift"]["state"] == "unknown"
