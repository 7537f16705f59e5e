"""`ci/lab unchanged` fails on a change, names it, and fails as a failed run does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.yml"
    path.write_text((ROOT / "inventories/lab/site.yml").read_text())
    return path


# What ends the run's first process, by a task of its own.
KILLED = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - changed_when: false
      ansible.builtin.command:
        argv:
          - "{{ ansible_playbook_python }}"
          - -c
          - |
            import os, pathlib, signal
            pid, runs = os.getpid(), []
            while pid > 1:
                proc = pathlib.Path(f"/proc/{pid}")
                words = (proc / "cmdline").read_bytes().split(b"\\0")
                if any(word.endswith(b"/ansible-playbook") for word in words[:2]):
                    runs.append(pid)
                pid = int((proc / "stat").read_text().rpartition(")")[2].split()[1])
            os.kill(runs[-1], signal.SIGKILL)
"""
HIDDEN = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - {name: Shown, ansible.builtin.command: "true"}
    - {name: Secret, ansible.builtin.command: "true", no_log: true}
"""


def unchanged(site: Path, *arguments: str, playbook: str = "groundup.cloud.plan") -> subprocess.CompletedProcess[str]:
    """Return the finished program, on the playbook that plans or another."""
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".run"),
        "GROUNDUP_STATE": str(site.parent / "state"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    command = [sys.executable, str(ROOT / "ci/unchanged.py"), str(site), playbook, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=ROOT)


def test_a_run_that_changes_something_fails_and_names_host_task_and_play(site: Path) -> None:
    for arguments in (("--check",), ()):
        done = unchanged(site, *arguments)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "changed something: localhost: Plan the site (Plan)" in done.stderr
    again = unchanged(site)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "changed something" not in again.stderr


def test_a_run_that_fails_is_no_unchanged_run(site: Path) -> None:
    site.write_text(site.read_text() + "edge: {address: 10.90.0.1}\n")
    assert unchanged(site).returncode == 2


def test_a_run_that_is_killed_is_no_unchanged_run(site: Path) -> None:
    plays = site.with_name("killed.yml")
    plays.write_text(KILLED)
    done = unchanged(site, playbook=str(plays))
    assert (done.returncode, "the run was killed" in done.stderr) == (1, True), done.stdout + done.stderr


def test_a_change_whose_result_is_hidden_is_one(site: Path) -> None:
    plays = site.with_name("hidden.yml")
    plays.write_text(HIDDEN)
    done = unchanged(site, playbook=str(plays))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "changed something: localhost: Shown (localhost)" in done.stderr
    assert "changed something: localhost: 1 whose result is hidden" in done.stderr
