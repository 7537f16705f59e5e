"""Child processes, healing, live lines, and where charts come from."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import chart_arguments
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.heal import leftovers, remedy
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import ChartError, LiveRelease, Rendered
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import InterruptedRunError, Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.progress import SILENCE, ReleaseProgress


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    end = time.monotonic() + 120
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(pid)


GRANDCHILD = "sleep 300 & echo $! > {file}; wait"


def started(file: Path) -> int:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if file.exists() and file.read_text().strip():
            return int(file.read_text())
        time.sleep(0.02)
    raise AssertionError("the grandchild was not started")


def test_stopping_ends_the_whole_process_group(tmp_path: Path) -> None:
    processes, file = Processes(), tmp_path / "pid"
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(processes.run(["bash", "-c", GRANDCHILD.format(file=file)]))
        except InterruptedRunError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    grandchild = started(file)
    processes.stop()
    thread.join(timeout=120)
    assert gone(grandchild)
    assert isinstance(outcome[0], InterruptedRunError)
    with pytest.raises(InterruptedRunError):
        processes.run(["true"])


def test_a_timeout_ends_the_whole_process_group(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    for seconds in (1.0, 10.0, 100.0):  # more than one, where a process takes that long to begin
        done = Processes().run(["bash", "-c", GRANDCHILD.format(file=file)], timeout=seconds)
        assert done.code != 0
        if file.exists() and file.read_text():
            break
    assert gone(started(file))


def test_a_child_ends_when_its_parent_is_killed_outright(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = (
        "from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes\n"
        f"Processes().run(['bash', '-c', 'echo $$ > {file}; exec sleep 300'])\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    child = started(file)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert gone(child)


def test_input_and_output_travel_by_pipes() -> None:
    done = Processes().run(["cat"], stdin="secret: x\n" * 20000)
    assert (done.code, done.stdout) == (0, "secret: x\n" * 20000)


def record(status: str, *, before: bool) -> LiveRelease:
    return LiveRelease(
        name="r", namespace="n", revision=2, status=status, chart="r", chart_version="1", deployed_before=before,
        digest="", objects=(), hooks=(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "before", "expected"),
    [
        ("deployed", True, "none"),
        ("failed", True, "none"),
        ("failed", False, "forget the install"),
        ("pending-install", False, "forget the install"),
        ("pending-upgrade", True, "forget the revision"),
        ("pending-rollback", True, "forget the revision"),
        ("uninstalling", True, "finish uninstall"),
    ],
)
def test_what_a_killed_run_left_behind_is_healed_as_its_state_asks(status: str, before: bool, expected: str) -> None:
    assert remedy(record(status, before=before)) == expected


def hook(kind: str, name: str, policy: str = "", *, live: bool = False, marked: bool = True) -> dict[str, Any]:
    notes = {"helm.sh/hook": "post-install"} if marked else {}
    if policy:
        notes["helm.sh/hook-delete-policy"] = policy
    version = "batch/v1" if kind == "Job" else "v1"
    meta = {"name": name, "annotations": notes} | ({"uid": "1"} if live else {})
    return {"apiVersion": version, "kind": kind, "metadata": meta}


def test_only_jobs_and_pods_of_hooks_that_helm_would_not_make_anew_are_cleared_away() -> None:
    """Keys that a hook made are kept, whoever filled them; what bears the name and is no hook is somebody else's."""
    jobs, pods = "/apis/batch/v1/namespaces/n/jobs", "/api/v1/namespaces/n/pods"
    cluster = {
        f"{jobs}/stuck": hook("Job", "stuck", live=True),
        f"{jobs}/remade": hook("Job", "remade", live=True),
        f"{jobs}/default": hook("Job", "default", live=True),
        f"{jobs}/theirs": hook("Job", "theirs", live=True, marked=False),
        f"{pods}/test": hook("Pod", "test", live=True),
        "/api/v1/namespaces/n/secrets/keys": hook("Secret", "keys", live=True),
    }

    class Cluster:
        def find(self, path: str) -> Any:
            return cluster.get(path)

    hooks = (
        hook("Job", "stuck", "hook-succeeded"), hook("Job", "remade", "hook-succeeded,before-hook-creation"),
        hook("Job", "default"), hook("Job", "theirs", "hook-failed"), hook("Job", "gone", "hook-succeeded"),
        hook("Pod", "test", "hook-succeeded"), hook("Secret", "keys", "hook-failed"),
    )  # fmt: skip
    api: Any = Cluster()
    rendered = Rendered(release="r", namespace="n", objects=(), hooks=hooks, digest="")
    found = leftovers(api, replace(record("pending-install", before=False), hooks=hooks), rendered)
    assert found == [f"{jobs}/stuck", f"{pods}/test"]
    # Helm forgets those that the release has no longer, done or not: a migration of the former version may still run.
    for status in ("deployed", "pending-upgrade"):
        live = replace(record(status, before=True), hooks=hooks)
        found = leftovers(api, live, replace(rendered, hooks=hooks[-1:]))
        assert found == [f"{jobs}/stuck", f"{jobs}/remade", f"{jobs}/default", f"{pods}/test"]
    assert leftovers(api, live, rendered) == [f"{jobs}/stuck", f"{pods}/test"]
    assert leftovers(api, replace(live, status="deployed"), rendered) == []


def test_jobs_of_a_revision_that_was_cut_short_do_not_go_on_beside_the_next_ones() -> None:
    jobs = "/apis/batch/v1/namespaces/n/jobs"

    def job(name: str, owner: str = "r") -> dict[str, Any]:
        notes = {"meta.helm.sh/release-name": owner}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": notes}}

    objects = (job("sync-1"), job("sync-2"), job("theirs", "other"), {**job("data"), "kind": "Secret"}, job("gone"))
    cluster = {f"{jobs}/{one['metadata']['name']}": one for one in objects[:-1]}

    class Cluster:
        def find(self, path: str) -> Any:
            return cluster.get(path)

    api: Any = Cluster()
    rendered = Rendered(release="r", namespace="n", objects=objects[1:2], hooks=(), digest="")
    found = {
        status: leftovers(api, replace(record(status, before=True), objects=objects), rendered)
        for status in ("pending-upgrade", "failed", "deployed")
    }
    assert found == {"pending-upgrade": [f"{jobs}/sync-1"], "failed": [f"{jobs}/sync-1"], "deployed": []}
    # Helm applies over a failed one, which never runs again.
    cluster[f"{jobs}/sync-2"]["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    live = replace(record("deployed", before=True), objects=objects)
    assert leftovers(api, live, rendered) == [f"{jobs}/sync-2"]


def test_nothing_to_heal_where_nothing_is() -> None:
    assert remedy(None) == "none"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_are_printed_for_news_only_and_never_silent_for_long() -> None:
    lines: list[str] = []
    clock = Clock()
    board = ReleaseProgress(["mariadb", "keystone"], lines.append, clock=clock)
    board.update("mariadb", "applying")
    board.update("mariadb", "applying")
    assert len(lines) == 1
    board.update("mariadb", "starting", ready=1, total=3, waiting_for="StatefulSet/mariadb-server: mariadb-server-1")
    assert "1/3" in lines[-1]
    board.tick()
    assert len(lines) == 2
    clock.now += SILENCE
    board.tick()
    assert len(lines) == 3
    assert "mariadb-server-1" in lines[-1]
    assert SILENCE < 15
    board.update("mariadb", "ready")
    clock.now += SILENCE
    board.tick()
    assert lines[-1].split()[:2] == ["mariadb", "ready"]


def test_charts_come_from_a_directory_a_repository_or_a_registry(tmp_path: Path) -> None:
    assert chart_arguments("oci://r/charts/", "nova", "1") == ["oci://r/charts/nova", "--version", "1"]
    assert chart_arguments("https://c.test", "nova", "1") == ["nova", "--repo", "https://c.test", "--version", "1"]
    (tmp_path / "nova").mkdir()
    (tmp_path / "nova" / "Chart.yaml").write_text("name: nova\nversion: '1'\n")
    assert chart_arguments(str(tmp_path), "nova", "1") == [str(tmp_path / "nova")]
    (tmp_path / "nova-1+abc.tgz").touch()
    assert chart_arguments(str(tmp_path), "nova", "1") == [str(tmp_path / "nova-1+abc.tgz")]
    with pytest.raises(ChartError, match="chart glance 1"):
        chart_arguments(str(tmp_path), "glance", "1")


def test_a_folder_of_another_version_is_not_the_chart_that_was_asked_for(tmp_path: Path) -> None:
    """Else a site file that pins a version gets another one, and is told that all is ready."""
    (tmp_path / "nova").mkdir()
    for text in ("version: 2026.1.0", "", "- no chart", "a: [1"):
        (tmp_path / "nova" / "Chart.yaml").write_text(text)
        with pytest.raises(ChartError, match=r"chart nova 2026\.1\.7 is not there"):
            chart_arguments(str(tmp_path), "nova", "2026.1.7")
