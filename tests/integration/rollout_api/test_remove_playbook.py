"""The verb `remove` on a real cluster whose machines are all down: what it says, what it does, what it leaves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.tests.integration.commands import run

from .conftest import Site
from .puppet import NODE

SITE = """\
plugin: groundup.cloud.site
site: unit
domain: unit.test
profile: lab
networks: {management: {cidr: 127.95.0.0/24}}
access: {port: 9}
machines:
  seed: {count: 1, provisioner: existing}
  control: {count: 1, provisioner: existing}
  worker: {names: [WORKERS], provisioner: existing}
"""
NODE_PATH = resource_path("v1", "nodes", name=NODE)


def remove(directory: Path, site: Site, *arguments: str, workers: str = NODE) -> subprocess.CompletedProcess[str]:
    """Run the verb for a site whose cluster is the test's."""
    state = directory / "state/unit"
    state.mkdir(parents=True, exist_ok=True)
    shutil.copy(site.control_plane.kubeconfig, state / "kubeconfig")
    (directory / "site.yml").write_text(SITE.replace("WORKERS", workers))
    return run(
        "ansible-playbook", "-i", directory / "site.yml", "groundup.cloud.remove", *arguments,
        GROUNDUP_STATE=directory / "state",
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _down(site: Site) -> object:
    site.puppet.node(ready=False)
    yield
    site.puppet.node(ready=True)


def test_a_machine_must_be_named(site: Site, tmp_path: Path) -> None:
    done = remove(tmp_path, site)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "-e remove_machine=NAME" in done.stdout + done.stderr


def test_a_dry_run_says_what_leaves_and_changes_nothing(site: Site, tmp_path: Path) -> None:
    done = remove(tmp_path, site, "-e", f"remove_machine={NODE}", "--check")
    assert f"delete Node {NODE}" in done.stdout, done.stdout + done.stderr
    assert "unschedulable" not in site.api.get(NODE_PATH)["spec"]


@pytest.mark.parametrize("workers", [NODE, "worker-7"], ids=["in the site file", "no longer in it"])
def test_a_dead_worker_leaves_and_what_remains_on_it_is_said(site: Site, tmp_path: Path, workers: str) -> None:
    done = remove(tmp_path, site, "-e", f"remove_machine={NODE}", workers=workers)
    said = " ".join((done.stdout + done.stderr).split())
    assert site.api.find(NODE_PATH) is None, done.stdout + done.stderr
    assert f"{NODE} cannot be reached: its kubelet, certificates and volumes remain on it" in said
    assert "Verify that the cluster has nothing left of it" in said
    # The control host of this site is down, too: its edge is the next step.
    assert "TASK [groundup.cloud.edge : Converge HAProxy and the virtual IP]" in done.stdout
    assert done.returncode != 0
