"""A site file of another site with the same name: no playbook runs on the first one's state."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.integration.commands import run

LAB = COLLECTION / "inventories/cloud/site.yml"


@pytest.mark.parametrize("playbook", ["lab_destroy", "plan", "secrets", "erase", "site", "remove"])
def test_a_playbook_refuses_the_state_of_another_site(tmp_path: Path, playbook: str) -> None:
    state = tmp_path / "state" / "cloud"
    (state / "ssh").mkdir(parents=True)
    (state / "ssh/id_ed25519").touch()
    domain = re.search(r"^domain: (\S+)$", LAB.read_text(), re.MULTILINE)
    assert domain
    record = f'{{"domain": "{domain[1]}", "hosts": {{"control-1": ["existing", "10.1.1.1"]}}}}'
    (state / "site.json").write_text(record)
    variables = {"GROUNDUP_STATE": str(state.parent), "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    argv = ["ansible-playbook", "-i", str(LAB), f"groundup.cloud.{playbook}"]
    done = run(*argv, cwd=tmp_path, PATH=os.environ["PATH"], **variables)
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, shown
    said = "control-1 are no containers" if playbook == "lab_destroy" else "control-1 is of provisioner existing there"
    assert said in shown
    assert sorted(path.name for path in state.iterdir()) == ["site.json", "ssh"]
    assert (state / "site.json").read_text() == record
