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


def unchanged(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the finished program, on the playbook that plans."""
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".run"),
        "GROUNDUP_STATE": str(site.parent / "state"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    command = [sys.executable, str(ROOT / "ci/unchanged.py"), str(site), "groundup.cloud.plan", *arguments]
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
