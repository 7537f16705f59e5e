"""Nothing waits for ever for a host of the lab: the run ends, and says what it waited for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._container import runtime
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import Lab

ROOT = Path(__file__).resolve().parents[3]


def program(directory: Path, name: str, script: str) -> None:
    """Put a program called ``name`` before those of this machine."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


def test_a_runc_that_does_not_return_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin", "runc", "echo waiting for the freezer; exec sleep 600")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(runtime, "START_TIMEOUT", 2.0)
    monkeypatch.setattr(Lab, "run", property(lambda _: tmp_path / "run"))
    lab = Lab(site="test", root=tmp_path / "lab")
    lab.home("worker-1").mkdir(parents=True)
    with pytest.raises(GroundupError, match=r"worker-1: runc did not start it within 2 s: waiting for the freezer"):
        runtime.start(lab, "worker-1", {})


def verify(directory: Path, systemctl: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the role's verification on this machine, with another systemctl."""
    program(directory / "bin", "systemctl", systemctl)
    role = {"name": "groundup.cloud.lab_hosts", "tasks_from": "verify"}
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"lab_hosts_boot_timeout": 2, "ansible_python_interpreter": sys.executable},
        "tasks": [{"ansible.builtin.import_role": role}],
    }
    (directory / "play.yml").write_text(json.dumps([play]))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".run"),
        "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
    }
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", "play.yml", *arguments]
    return subprocess.run(
        command, check=False, cwd=directory, capture_output=True, text=True, env=environment, timeout=300
    )


@pytest.mark.parametrize(
    ("systemctl", "status", "said"),
    [
        ("exec sleep 600", 2, "the boot of localhost has not ended within 2 s; see systemctl list-jobs"),
        ("echo degraded; exit 1", 2, "localhost is degraded, not running; see systemctl --failed there"),
        ("echo running", 0, "failed=0"),
    ],
    ids=["hangs", "degraded", "running"],
)
def test_a_boot_that_does_not_end_well_is_told(tmp_path: Path, systemctl: str, status: int, said: str) -> None:
    done = verify(tmp_path, systemctl)
    assert done.returncode == status, done.stdout + done.stderr
    assert said in " ".join((done.stdout + done.stderr).split())


def test_a_prediction_asks_nothing_of_a_boot(tmp_path: Path) -> None:
    done = verify(tmp_path, "echo degraded; exit 1", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
