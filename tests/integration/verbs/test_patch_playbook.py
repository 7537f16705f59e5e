"""The playbook groundup.cloud.patch says what it knows, and patches no host that it could not ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run


def patch(state: Path, *arguments: str) -> Any:
    """Return the finished playbook, of a site that is not made."""
    site = ROOT / "inventories/cloud/site.yml"
    return run("ansible-playbook", "-i", site, "groundup.cloud.patch", *arguments, GROUNDUP_STATE=state)


def test_hosts_that_cannot_be_asked_are_unknown_and_the_document_is_all_of_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "patch.json"
    done = patch(tmp_path / "state", "--tags", "check", "-e", "output=json", "-e", f"patch_file={path}")
    assert done.returncode == 4, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads(path.read_text())
    assert (found["site"], found["order"]) == ("cloud", [])
    assert set(found["snapshots"].values()) == {"packages-ceph-13/13"}, "before the seed has one, the path of the plan"
    assert {"control-1", "hypervisor-2", "seed-1"} <= set(found["hosts"])
    assert all(one["not_there"] for one in found["hosts"].values())
    assert not (tmp_path / "state").exists()


def test_a_run_on_hosts_that_cannot_be_asked_patches_none_and_names_them(tmp_path: Path) -> None:
    done = patch(tmp_path / "state")
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.splitlines()[0].split() == ["host", "snapshot", "packages", "restarts", "reboot"]
    assert "could not be asked: " in done.stdout + done.stderr
    assert "changed=0" in done.stdout
    assert not (tmp_path / "state").exists()
