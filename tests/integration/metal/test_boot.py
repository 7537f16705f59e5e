"""The verification of a host's boot ends, and says what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import run


def verify(directory: Path, systemctl: str, *arguments: str, within: int = 120) -> subprocess.CompletedProcess[str]:
    """Run the verification on this machine, with another systemctl."""
    program = directory / "bin/systemctl"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{systemctl}\n")
    program.chmod(0o755)
    return ready(directory, *arguments, options={"boot_timeout": within})


def ready(directory: Path, *arguments: str, options: dict[str, object]) -> subprocess.CompletedProcess[str]:
    """Ask this machine, as a worker the site cannot spare, whether it is ready."""
    host = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    inventory = {
        "all": {
            "hosts": {"worker-1": host | {"groundup_host": {"group": "worker"}}},
            "children": {"absent": {}},
            "vars": {"groundup_dry_run": False, "groundup_site": {"max_unavailable": {"worker": 0}, "enough": {}}},
        }
    }
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"groundup.cloud.machines": {"step": "ready", "login": "root@localhost", "remedy": "none"} | options}
        ],
    }
    (directory / "hosts.yml").write_text(json.dumps(inventory))
    (directory / "play.yml").write_text(json.dumps([play, {"import_playbook": "groundup.cloud.set_aside"}]))
    path = f"{directory / 'bin'}:{os.environ['PATH']}"
    return run("ansible-playbook", "-i", "hosts.yml", "play.yml", *arguments, cwd=directory, PATH=path)


@pytest.mark.parametrize(
    ("systemctl", "status", "said"),
    [
        ("exec sleep 600", 2, ["the boot of worker-1 has not ended within 2 s", "see systemctl list-jobs there"]),
        ("echo degraded; exit 1", 2, ["worker-1 is degraded, not running", "see systemctl --failed there"]),
        ("echo running", 0, ["failed=0"]),
    ],
    ids=["hangs", "degraded", "running"],
)
def test_a_boot_that_does_not_end_well_is_told(tmp_path: Path, systemctl: str, status: int, said: list[str]) -> None:
    done = verify(tmp_path, systemctl, within=2 if "sleep" in systemctl else 120)
    assert done.returncode == status, done.stdout + done.stderr
    shown = " ".join((done.stdout + done.stderr).split())
    assert all(part in shown for part in said), shown


def test_a_prediction_asks_nothing_of_a_boot(tmp_path: Path) -> None:
    done = verify(tmp_path, "echo degraded; exit 1", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_machine_that_is_there_already_is_asked_for_no_boot(tmp_path: Path) -> None:
    done = ready(tmp_path, options={})
    assert done.returncode == 0, done.stdout + done.stderr
