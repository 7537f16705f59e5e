"""The playbooks erase and reprovision refuse what they must, before anything is asked of the seed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.integration.commands import run

SITE = COLLECTION / "inventories/lab-metal/site.yml"


@pytest.mark.parametrize("verb", ["erase", "reprovision"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "no machine is named"),
        ("../../etc/passwd", "is no name of a machine"),
        ("control-1", "control-1 is of provisioner container"),
        ("worker-1", "is a node of the cluster"),
    ],
)
def test_a_machine_that_must_not_be_erased_is_refused(tmp_path: Path, verb: str, name: str, said: str) -> None:
    state = tmp_path / "lab-metal"
    state.mkdir()
    (state / "cluster.json").write_text('{"ca": "0", "nodes": ["worker-1"]}')
    (tmp_path / "password").write_text("of this test")
    secret = {"GROUNDUP_STATE": str(tmp_path), "ANSIBLE_VAULT_PASSWORD_FILE": str(tmp_path / "password")}
    argv = ["ansible-playbook", "-i", str(SITE), f"groundup.cloud.{verb}", "--check", "-e", f"machine={name}"]
    done = run(*argv, cwd=tmp_path, PATH=os.environ["PATH"], **secret)
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, shown
    assert said in shown
