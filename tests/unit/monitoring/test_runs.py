"""The history of runs is whole after any end, bounded and without secrets; the monitoring host takes it or is left."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.lifetime import identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring import runs
from ansible_collections.groundup.cloud.plugins.plugin_utils.run_mode import WITHIN_RUN

OPTIONS: dict[str, Any] = {
    "args": ("groundup.cloud.site",), "tags": ("all",), "skip_tags": (), "subset": "worker-1",
    "extra_vars": ("password=hush-word",),
}  # fmt: skip
WELL: dict[str, Any] = {"stopped": False, "failed": "", "without": "", "changed": {}, "would_change": {}}


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    place = tmp_path / "lab"
    place.mkdir()
    return place


def row(ago: float = 0.0, *, process: str = "", **more: Any) -> dict[str, Any]:
    """Return a record of ``process``, by default this one."""
    found = runs.begun(OPTIONS, check=False, began=time.time() - ago)
    return found | ({"process": process} if process else {}) | more


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the page gets."""
    found: list[dict[str, Any]] = json.loads(runs.told(rows))["runs"]
    return found


def test_a_run_has_one_record_which_its_end_completes(home: Path) -> None:
    own = row(5)
    (begun,) = shown(runs.record("lab", own))
    assert (begun["lives"], begun["playbooks"], begun["limit"]) == (True, ["groundup.cloud.site"], "worker-1")
    (ended,) = shown(runs.record("lab", own | WELL | {"ended": time.time(), "changed": {"host": 3}}))
    assert (ended["lives"], ended["changed"]) == (False, {"host": 3})
    assert stat.S_IMODE((home / runs.FILE).stat().st_mode) == 0o600


@pytest.mark.usefixtures("home")
def test_a_run_that_was_killed_is_known_by_its_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        lost = row(9, process=identity(process.pid))
        assert [one["lives"] for one in shown(runs.record("lab", lost))] == [True]
        process.kill()
        process.wait()
        assert [one["lives"] for one in shown(runs.record("lab", row()))] == [False, True]
    foreign = [row(process=each) for each in ("another/boot/1:1:1", "no identity", f"{os.getpid()}")]
    assert not any(one["lives"] for one in shown(foreign))


def test_of_extra_variables_and_the_process_nothing_is_told(home: Path) -> None:
    rows = runs.record("lab", row())
    assert "hush-word" not in (home / runs.FILE).read_text()
    assert rows[0]["process"] not in runs.told(rows)


def test_lines_that_are_no_records_break_nothing(home: Path) -> None:
    good = json.dumps(row(9, process="a:1:1"))
    (home / runs.FILE).write_bytes("\n".join([good[:40], "[1]", '{"began": "soon"}', "", good]).encode() + b"\n\0\xff")
    assert [one["process"] for one in runs.record("lab", row())] == ["a:1:1", identity(os.getpid())]


def test_only_the_last_days_and_so_many_are_kept(home: Path) -> None:
    old = [row(15 * 86400, process="old:1:1"), *(row(1000 - n, process=f"a:{n}:1") for n in range(300))]
    (home / runs.FILE).write_text("".join(f"{json.dumps(one)}\n" for one in old))
    rows = runs.record("lab", row())
    assert len(rows) == 200
    assert rows[-2]["process"] == "a:299:1"


@pytest.mark.usefixtures("home")
def test_of_runs_that_change_nothing_the_last_one_and_their_number_stay() -> None:
    for number in range(4):
        rows = runs.record("lab", row(100 - number, process=f"a:{number}:1") | WELL | {"ended": time.time()})
    (quiet,) = rows
    assert quiet["times"] == 4
    assert quiet["began"] - quiet["since"] == pytest.approx(3, abs=1)
    rows = runs.record("lab", row(9, process="b:1:1") | WELL | {"ended": time.time(), "changed": {"host": 1}})
    rows = runs.record("lab", row(8, process="c:1:1") | WELL | {"ended": time.time(), "stopped": True})
    rows = runs.record("lab", row(7, process="d:1:1") | WELL | {"ended": time.time()})
    rows = runs.record("lab", row(6, process="e:1:1"))
    assert [one.get("times", 1) for one in rows] == [4, 1, 1, 1, 1]


@pytest.mark.usefixtures("home")
def test_of_runs_that_fail_alike_the_last_one_and_their_number_stay() -> None:
    lost = WELL | {"ended": time.time(), "stopped": True, "failed": "host on worker-1"}
    for number in range(3):
        rows = runs.record("lab", row(100 - number, process=f"a:{number}:1") | lost)
    rows = runs.record("lab", row(9, process="b:1:1") | lost | {"failed": "host on worker-2"})
    assert [one.get("times", 1) for one in rows] == [3, 1]


def test_before_there_is_a_state_directory_nothing_is_written(home: Path) -> None:
    home.rmdir()
    assert runs.record("lab", row()) == []
    assert not home.exists()


def test_what_a_recorded_run_starts_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {})
    assert [runs.is_whole(), runs.is_whole()] == [True, False]
    monkeypatch.setattr(os, "environ", {WITHIN_RUN: ""})  # of a layer that drift mends
    assert [runs.is_whole(), runs.is_whole()] == [True, False]


class MonitoringHost:
    """A directory in place of the monitoring host, whose shell takes what it is sent."""

    def __init__(self, home: Path) -> None:
        self.file, self.owner = home / "page/runs.json", home / "site"
        self.file.parent.mkdir()
        self.owner.write_text("lab 1234\n")

    def takes(self, text: str, *, sent: str | None = None, site: str = "lab") -> int:
        """Send ``sent``, by default all of ``text``; return the exit code."""
        command = runs.take(site, text, place=self.file, owner=self.owner)
        given = (text if sent is None else sent).encode()
        return subprocess.run(["sh", "-c", command], input=given, check=False).returncode

    def has(self) -> list[str]:
        return [one.read_text() for one in self.file.parent.iterdir()]


def test_the_monitoring_host_takes_a_text_whole_or_not_at_all(tmp_path: Path) -> None:
    host = MonitoringHost(tmp_path)
    assert host.takes('{"told": "é"}') == 0
    assert stat.S_IMODE(host.file.stat().st_mode) == 0o644
    assert host.takes('{"told": 2}', sent='{"to') == 1
    assert host.has() == ['{"told": "é"}'], "of the torn one nothing is left"


def test_a_host_of_another_site_or_without_monitoring_is_left_alone(tmp_path: Path) -> None:
    host = MonitoringHost(tmp_path)
    assert host.takes("{}", site="it's another") == 0
    assert host.has() == []
    host.file.parent.rmdir()
    assert host.takes("{}") == 0
    assert not host.file.parent.exists()


def test_a_monitoring_host_that_hangs_is_waited_for_briefly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ssh := tmp_path / "ssh").write_text("#!/bin/sh\nexec sleep 60\n")
    ssh.chmod(0o755)
    monkeypatch.setattr(runs, "_ANSWER", 0.2)
    with pytest.raises(GroundupError, match="did not end within"):
        runs.tell("lab", [row()], {"ssh_executable": str(ssh), "host": "10.0.0.1", "remote_user": "root"}.get)
    ssh.write_text('#!/bin/sh\necho "$@" >&2\nexit 255\n')
    said = runs.tell("lab", [row()], {"ssh_executable": str(ssh), "host": "10.0.0.1", "remote_user": "debian"}.get)
    assert "10.0.0.1 sudo -n sh -c" in said
