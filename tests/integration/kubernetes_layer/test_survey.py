"""All control hosts are asked for the cluster before one is made, whatever the limit of the run."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
SILENT = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 9}

pytestmark = pytest.mark.skipif(
    Path("/etc/kubernetes").exists(), reason="this machine stands for hosts without a cluster"
)


def survey(
    directory: Path,
    third: dict[str, Any],
    *,
    limit: str = "kubernetes",
    dry_run: bool = False,
    absent: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run the role's survey in a site of three control hosts and a worker; it writes what a node is then told."""
    plan = site_plan(ROOT / "inventories/lab/site.yml")
    site = {"site": plan.site, "kubernetes": asdict(plan.kubernetes)}
    controls = {
        f"control-{n}": {**(third if n == 3 else HERE), "groundup_host": {"address": f"127.0.0.{n}"}} for n in (1, 2, 3)
    }
    groups = {
        "control": {"hosts": controls},
        "kubernetes": {"hosts": dict.fromkeys(controls) | {"worker-1": HERE}},
        "absent": {"hosts": dict.fromkeys(absent)},
    }
    inventory = {"all": {"vars": {"groundup_site": site, "groundup_dry_run": dry_run}, "children": groups}}
    role = {"name": "groundup.cloud.kubernetes", "tasks_from": "survey", "rolespec_validate": False}
    found = "{{ {'surveyed': kubernetes_node_options.surveyed, 'recorded': kubernetes_recorded} | to_json }}"
    written = {"content": found, "dest": str(directory / "found"), "mode": "0600"}
    play = {
        "hosts": "kubernetes",
        "gather_facts": False,
        "any_errors_fatal": True,
        "max_fail_percentage": 0,
        "tasks": [
            {"ansible.builtin.import_role": role},
            {"ansible.builtin.copy": written, "delegate_to": "localhost", "run_once": True, "check_mode": False},
        ],
    }
    (directory / "hosts.yml").write_text(json.dumps(inventory))
    (directory / "play.yml").write_text(json.dumps([play]))
    options = ["--limit", limit, *(["--check"] if dry_run else [])]
    return run("ansible-playbook", "-i", "hosts.yml", "play.yml", *options, cwd=directory, GROUNDUP_STATE=directory)


@pytest.mark.parametrize("limit", ["kubernetes", "control-1"])
def test_a_silent_control_host_stops_the_run_before_a_cluster_is_made(tmp_path: Path, limit: str) -> None:
    done = survey(tmp_path, SILENT, limit=limit)
    assert done.returncode != 0
    assert "no cluster is initialised: control-3 did not say whether it belongs to one" in done.stdout
    assert not (tmp_path / "found").exists()


def test_when_all_answered_and_none_has_a_cluster_one_may_be_made(tmp_path: Path) -> None:
    done = survey(tmp_path, HERE, limit="control-1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "found").read_text()) == {"surveyed": True, "recorded": False}


def test_a_dry_run_foresees_a_cluster_on_hosts_that_are_still_to_be_made(tmp_path: Path) -> None:
    done = survey(tmp_path, SILENT, dry_run=True, absent=("control-3",))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "found").read_text())["surveyed"] is True
    done = survey(tmp_path, SILENT, absent=("control-3",))
    assert "control-3 did not say" in done.stdout
