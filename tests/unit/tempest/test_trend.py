"""Rally's figures: appended run by run, shown as a table; no password stays, and what Rally left is deleted."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest import ground, runs, trend
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.program import Program
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.settings import Prepared
from ansible_collections.groundup.cloud.plugins.plugin_utils.tempest.target import Target

# As Rally 5.1.1 takes and gives them: its report has what the task asked for.
RALLY = """#!/usr/bin/python3
import json, pathlib, stat, sys
place, command = pathlib.Path(sys.argv[2]).parent, sys.argv[3:]
assert stat.S_IMODE((place / "cloud.json").stat().st_mode) == 0o600
said = json.loads((place.parent / "said.json").read_text())
if command[:2] == ["task", "start"]:
    sys.exit(said is None)
if command[:2] == ["task", "list"]:
    print("0f-uuid")
if command[:2] == ["task", "report"]:
    tasks = json.loads((place / "task.json").read_text())["subtasks"]
    found = [{"title": one["title"], "workloads": [said]} for one in tasks]
    pathlib.Path(command[-1]).write_text(json.dumps({"tasks": [{"subtasks": found}]}))
"""
TARGET = Target(name="c", region="r", auth_url="https://i.test/v3", ca=None, services=frozenset(), hypervisors=1)
ACCOUNT = {"username": "gu1-admin", "password": "sesame", "project_name": "gu1-admin", "domain_name": "Default"}


def workload(seconds: float, *errors: str) -> dict[str, Any]:
    def part(name: str, success: str) -> dict[str, Any]:
        return {"name": name, "data": {"median": seconds, "max": seconds * 2, "success": success}}

    total = part("total", "80.0%" if errors else "100.0%")
    data = [{"error": ["Fault", one, "Traceback"]} for one in errors] or [{"error": []}]
    return {"statistics": {"durations": {"atomics": [part("nova.boot", "100.0%")], "total": total}}, "data": data}


def measured(place: Path, said: dict[str, Any] | None, *chosen: str) -> list[dict[str, Any]]:
    """Measure with a Rally that reports ``said``; None: it cannot begin."""
    (place / "bin").mkdir(exist_ok=True)
    (place / "bin/rally").write_text(RALLY)
    (place / "bin/rally").chmod(0o755)
    (place / "said.json").write_text(json.dumps(said))
    try:
        made = Prepared(prefix="gu1", account=ACCOUNT, images=("i", ""), flavors=("f", ""))
        return trend.measure(Program(home=place, directory=place), made, TARGET, chosen, place=place)
    finally:
        assert not (place / runs.RALLY).exists(), "the password"


def test_each_run_adds_its_figures_and_the_table_has_those_of_all(tmp_path: Path) -> None:
    assert [one["status"] for one in measured(tmp_path, workload(2.0), *trend.NAMES)] == ["success"] * 4
    measured(tmp_path, workload(3.0), "rally.boot")
    boots = [line[33:] for line in trend.table(tmp_path).splitlines() if line.startswith("rally.boot")]
    assert boots == ["nova.boot 2.00 / 4.00, total 2.00 / 4.00", "nova.boot 3.00 / 6.00, total 3.00 / 6.00"]


def test_an_iteration_that_failed_is_a_failure_with_its_words_and_no_figure(tmp_path: Path) -> None:
    (line,) = measured(tmp_path, workload(2.0, "No valid host was found"), "rally.boot")
    assert (line["status"], line["why"]) == ("fail", "No valid host was found")
    assert trend.table(tmp_path).endswith("nova.boot 2.00 / 4.00, 1 failed")


def test_a_rally_that_cannot_begin_is_told_and_adds_nothing(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match=r"rally .* task start .* failed"):
        measured(tmp_path, None, "rally.boot")
    assert not (tmp_path / trend.TREND).exists()


def test_of_a_killed_run_its_own_project_is_emptied_and_its_password_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, emptied = runs.SuiteRun(directory=tmp_path, prefix="gu1"), list[str]()
    (tmp_path / runs.RALLY).mkdir()
    runs.cleaned(run)
    assert not (tmp_path / runs.RALLY).exists()
    monkeypatch.setattr(
        ground, "Sweep", lambda _: SimpleNamespace(project=emptied.append, gone=lambda *_: None, left=[])
    )
    nothing = dict.fromkeys(("get_project", "get_user", "delete_user", "delete_project"))
    identity = SimpleNamespace(projects=lambda name: [{"id": f"of {name}"}], **nothing)
    cloud: Any = SimpleNamespace(identity=identity, has_service=lambda _: False)
    program: Any = SimpleNamespace(cleanup=lambda _: "")
    for rally in (False, True):  # without it, the cloud may have nothing but Keystone
        if rally:
            (tmp_path / runs.RALLY_LOG).touch()
        assert ground.clean(cloud, run, program) == []
        assert emptied == ["of gu1-admin"] * rally
