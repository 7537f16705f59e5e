"""The runs of one machine that called home: for it alone, again with a pause, never without a word."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.runner import PAUSES, Runner
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import WayStep


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What ansible-runner was asked for; it ends as the test says."""
    asked: list[dict[str, Any]] = []

    def run(**given: Any) -> SimpleNamespace:
        asked.append(given)
        return SimpleNamespace(rc=codes.pop(0) if codes else 0, events=events)

    events: list[dict[str, Any]] = []
    codes: list[int | None] = []
    monkeypatch.setitem(sys.modules, "ansible_runner", SimpleNamespace(run=run, codes=codes, events=events))
    return asked


def runner(home: Path, *layers: str) -> tuple[Runner, list[float]]:
    slept: list[float] = []
    site = home / "site.yml"
    return Runner(site_file=site, home=home, layers=layers, say=lambda _line: None, sleep=slept.append), slept


def test_this_host_alone_is_configured_layer_by_layer_and_serves_then(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    one, _ = runner(tmp_path, "host", "kubernetes")
    one.configure("worker-1")
    assert [(run["playbook"], run["limit"]) for run in runs] == [
        ("groundup.cloud.host", "worker-1"), ("groundup.cloud.kubernetes", "worker-1"),
    ]  # fmt: skip
    assert [line["state"] for line in Journal(tmp_path / "worker-1.jsonl").lines()] == [
        "configuring", "configuring", "serving",
    ]  # fmt: skip


def test_a_run_takes_no_other_host_key_than_that_of_the_call(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    one, _ = runner(tmp_path, "host")
    one.configure("worker-1")
    assert runs[0]["envvars"]["ANSIBLE_HOST_KEY_CHECKING"] == "True"


def test_a_run_is_part_of_the_installation_in_the_history_of_runs(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    one, _ = runner(tmp_path, "host")
    one.configure("worker-1")
    assert runs[0]["envvars"]["GROUNDUP_WITHIN_RUN"]


def test_a_run_that_fails_is_tried_again_after_a_pause(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    sys.modules["ansible_runner"].codes[:] = [4, None]
    one, slept = runner(tmp_path, "host")
    one.configure("worker-1")
    assert (len(runs), slept) == (3, list(PAUSES))


def test_a_machine_that_waits_for_others_says_so_until_its_run_begins(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    seen: list[str] = []

    class Slots:
        def __enter__(self) -> None:
            seen.append(Journal(tmp_path / "worker-1.jsonl").doing)

        def __exit__(self, *_given: object) -> None:
            seen.append(Journal(tmp_path / "worker-1.jsonl").doing)

    one, _ = runner(tmp_path, "host")
    replace(one, slots=Slots()).configure("worker-1")
    assert (seen, len(runs)) == (["it waits for its turn", "layer host"], 1)


def test_tries_of_a_run_that_was_killed_count(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    sys.modules["ansible_runner"].codes[:] = [2, 2]
    first, _ = runner(tmp_path, "host")

    def killed(_seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace(first, sleep=killed).configure("worker-1")
    again, slept = runner(tmp_path, "host")
    again.configure("worker-1")
    assert (len(runs), slept) == (3, [PAUSES[1]])
    doing = [line["doing"] for line in Journal(tmp_path / "worker-1.jsonl").lines()]
    assert doing[1] == "layer host again in 5 s: ansible-playbook ended with 2"


def test_a_program_that_outlives_who_started_it_keeps_its_host_s_lock(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    one, _ = runner(tmp_path, "host")
    one.configure("worker-1")
    sleeps = {**runs[0]["envvars"], "GROUNDUP_RUN_PROGRAM": "/bin/cat"}
    program = shutil.which("ansible-playbook", path=sleeps["PATH"]) or ""
    with subprocess.Popen([program], env=sleeps, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runs_on:
        assert runs_on.stdin
        assert runs_on.stdout
        runs_on.stdin.write(b"it runs\n")
        runs_on.stdin.flush()
        assert runs_on.stdout.readline() == b"it runs\n"
        lock = tmp_path / ".worker-1.run.lock"
        assert subprocess.run(["flock", "--nonblock", lock, "true"], check=False).returncode == 1
        runs_on.stdin.close()
    assert subprocess.run(["flock", "--nonblock", lock, "true"], check=False).returncode == 0


def test_the_program_that_holds_the_lock_is_this_version_s(runs: list[dict[str, Any]], tmp_path: Path) -> None:
    old = tmp_path / "programs/ansible-playbook"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\nexit 1\n")
    one, _ = runner(tmp_path, "host")
    one.configure("worker-1")
    assert "flock" in old.read_text()
    assert old.stat().st_mode & 0o111
    assert runs


def test_the_program_that_holds_the_lock_starts_although_other_threads_start_programs_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*, envvars: dict[str, str], **_given: Any) -> SimpleNamespace:
        program = shutil.which("ansible-playbook", path=envvars["PATH"]) or ""
        ended = subprocess.run([program], env={**envvars, "GROUNDUP_RUN_PROGRAM": "true"}, check=True)
        return SimpleNamespace(rc=ended.returncode, events=[])

    done = threading.Event()
    monkeypatch.setitem(sys.modules, "ansible_runner", SimpleNamespace(run=run))
    monkeypatch.setattr(os, "fsync", lambda _file: time.sleep(0.5))  # the disk is busy

    def start_programs() -> None:
        while not done.is_set():
            child = os.fork()
            if not child:  # it has our open files until it is another program
                time.sleep(0.2)
                os._exit(0)
            os.waitpid(child, 0)

    others = [threading.Thread(target=start_programs) for _ in range(3)]
    for other in others:
        other.start()
    try:
        one, _ = runner(tmp_path, "host")
        one.configure("worker-1")
    finally:
        done.set()
        for other in others:
            other.join()


@pytest.mark.usefixtures("runs")
def test_a_run_that_waited_for_another_knows_what_that_wrote(tmp_path: Path) -> None:
    one, _ = runner(tmp_path, "host")
    with locked(tmp_path / ".worker-1.lock"):
        waits = threading.Thread(target=one.configure, args=("worker-1",))
        waits.start()
        assert not wait_until(lambda: "" if waiting(tmp_path / ".worker-1.lock") else "not yet", timeout=60, pause=0.01)
        Journal(tmp_path / "worker-1.jsonl").note(WayStep(state="configuring", verb="wait", doing="layer host"))
    waits.join()
    assert [line["state"] for line in Journal(tmp_path / "worker-1.jsonl").lines()] == ["configuring", "serving"]


def waiting(lock: Path) -> bool:
    """Say whether somebody waits for a lock."""
    node = f":{lock.stat().st_ino} "
    return any("-> FLOCK" in one and node in one for one in Path("/proc/locks").read_text().splitlines())


def test_a_run_is_told_what_holds_now_and_not_what_an_earlier_one_was(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    one, _ = runner(tmp_path, "host")
    stale = tmp_path / "runs/worker-1/env/envvars"
    stale.parent.mkdir(parents=True)
    stale.write_text('{"PATH": "/a/former/environment"}')
    replace(one, variables={"a": 1}).configure("worker-1")
    assert not stale.exists(), "the runner would believe it more than us"
    assert runs[0]["extravars"] == {"a": 1}


@pytest.mark.usefixtures("runs")
def test_a_host_that_a_layer_set_aside_has_failed_for_that_reason(tmp_path: Path) -> None:
    sys.modules["ansible_runner"].codes[:] = [4, 4, 4]
    res = {"aside": [{"host": "worker-1", "reason": "unreachable: no route"}]}
    sys.modules["ansible_runner"].events[:] = [{"event": "runner_on_ok", "event_data": {"res": res}}]
    one, _ = runner(tmp_path, "host")
    with pytest.raises(GroundupError, match="failed 3 times: unreachable: no route"):
        one.configure("worker-1")


@pytest.mark.usefixtures("runs")
def test_a_run_that_begins_no_task_fails_with_its_last_words(tmp_path: Path) -> None:
    sys.modules["ansible_runner"].codes[:] = [1, 1, 1]
    said = {"event": "verbose", "event_data": {}, "stdout": "\x1b[0;31m[ERROR]: no such inventory\x1b[0m\r\n"}
    sys.modules["ansible_runner"].events[:] = [said, {"event": "verbose", "event_data": {}}]
    one, _ = runner(tmp_path, "host")
    with pytest.raises(GroundupError, match=r"ended with 1: \[ERROR\]: no such inventory"):
        one.configure("worker-1")


def test_a_host_that_fails_again_and_again_has_a_card_and_the_place_of_its_output(
    runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    sys.modules["ansible_runner"].codes[:] = [2, 2, 2]
    failed = {"task": "Converge", "res": {"msg": "no kernel\n  module"}}
    sys.modules["ansible_runner"].events[:] = [
        {"event": "runner_on_ok", "event_data": {"res": {"msg": "fine"}}},
        {"event": "runner_on_unreachable", "event_data": failed},
    ]
    one, _ = runner(tmp_path, "host")
    with pytest.raises(GroundupError, match=r"runs/worker-1/artifacts"):
        one.configure("worker-1")
    last = Journal(tmp_path / "worker-1.jsonl").lines()[-1]
    assert (len(runs), last["state"]) == (3, "failed")
    assert last["card"]["what"] == "layer host failed 3 times: no kernel module"
