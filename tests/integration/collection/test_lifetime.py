"""What a run started ends with it, also when it is killed in a way that leaves it no time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLAYS = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.command:
        argv:
          - "{{ ansible_playbook_python }}"
          - -c
          - "import os, time; open('PLACE', 'w').write(str(os.getpid())); time.sleep(600)"
"""


def until(condition: Callable[[], bool], what: str) -> None:
    for _ in range(1800):
        if condition():
            return
        threading.Event().wait(0.1)
    pytest.fail(what)


def children(pid: int) -> list[int]:
    """Return what the main thread of ``pid`` has forked: Ansible's workers."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and was not asked for is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter when it ends while it is read
        return False


def test_a_killed_run_takes_its_workers_and_what_they_do_with_it(tmp_path: Path) -> None:
    place = tmp_path / "task"
    (tmp_path / "plays.yml").write_text(PLAYS.replace("PLACE", str(place)))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".run"),
        "GROUNDUP_STATE": str(tmp_path / "state"),
    }
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    run = subprocess.Popen(
        [program, "-i", str(ROOT / "inventories/edge/site.yml"), str(tmp_path / "plays.yml")],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until(lambda: place.exists() and place.read_text() != "", "the task did not begin")
        begun = [*children(run.pid), int(place.read_text())]
        assert all(map(alive, begun))
        assert len(begun) > 1
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    try:
        until(lambda: not any(map(alive, begun)), f"one of a killed run's processes goes on: {begun}")
    finally:
        for pid in filter(alive, begun):
            os.kill(pid, signal.SIGKILL)
