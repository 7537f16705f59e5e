"""The verb `remove` on a real cluster whose machines are all down: what it says, what it does, what it leaves."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.tests.integration.commands import run

from .conftest import LEAVING, Site

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


def remove(
    directory: Path, site: Site, *arguments: str, workers: str = "", text: str = SITE
) -> subprocess.CompletedProcess[str]:
    """Run the verb for a site whose cluster is the test's."""
    state = directory / "state/unit"
    state.mkdir(parents=True, exist_ok=True)
    shutil.copy(site.control_plane.kubeconfig, state / "kubeconfig")
    (directory / "site.yml").write_text(text.replace("WORKERS", workers or site.puppet.name))
    return run(
        "ansible-playbook", "-i", directory / "site.yml", "groundup.cloud.remove", *arguments,
        GROUNDUP_STATE=directory / "state",
    )  # fmt: skip


@pytest.fixture
def node() -> str:
    """A node of the test's own: other tests left pods on theirs."""
    return f"worker-{next(LEAVING)}"


@pytest.fixture(autouse=True)
def _down(site: Site) -> None:
    site.puppet.node(ready=False)


def test_a_machine_must_be_named(site: Site, tmp_path: Path) -> None:
    done = remove(tmp_path, site)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "-e machine=NAME" in done.stdout + done.stderr


def test_a_dry_run_says_what_leaves_and_changes_nothing(site: Site, tmp_path: Path) -> None:
    done = remove(tmp_path, site, "-e", f"machine={site.puppet.name}", "--check")
    assert f"delete Node {site.puppet.name}" in done.stdout, done.stdout + done.stderr
    assert "unschedulable" not in site.api.get(resource_path("v1", "nodes", name=site.puppet.name))["spec"]


@pytest.fixture
def control(site: Site) -> Iterator[tuple[str, ...]]:
    """Three control hosts, as the cluster knows them."""
    names, nodes = ("control-1", "control-2", "control-3"), resource_path("v1", "nodes")
    for name in names:
        metadata = {"name": name, "labels": {"node-role.kubernetes.io/control-plane": ""}}
        site.api.request("POST", nodes, body={"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    yield names
    for name in names:
        site.api.delete(f"{nodes}/{name}")


def test_no_control_host_leaves_before_etcd_was_asked(site: Site, tmp_path: Path, control: tuple[str, ...]) -> None:
    three = SITE.replace("control: {count: 1", "control: {count: 3")
    force = json.dumps({"machine": control[2], "remove_force": ["control-count"]})
    done = remove(tmp_path, site, "-e", f"machine={control[2]}", text=three)
    assert "2 control host(s) would be left (control-1, control-2): they survive no loss" in done.stdout, done.stderr
    done = remove(tmp_path, site, "-e", force, text=three)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "TASK [Check that etcd keeps its quorum without it]" in done.stdout
    assert "control-1 cannot be reached" in done.stdout
    node = site.api.get(resource_path("v1", "nodes", name=control[2]))
    assert "unschedulable" not in node["spec"]


@pytest.mark.parametrize("workers", ["", "worker-7"], ids=["in the site file", "no longer in it"])
def test_a_dead_worker_leaves_and_what_remains_on_it_is_said(site: Site, tmp_path: Path, workers: str) -> None:
    done = remove(tmp_path, site, "-e", f"machine={site.puppet.name}", workers=workers)
    said = " ".join((done.stdout + done.stderr).split())
    assert site.api.find(resource_path("v1", "nodes", name=site.puppet.name)) is None, done.stdout + done.stderr
    assert f"{site.puppet.name} cannot be reached: its kubelet, certificates and volumes remain on it" in said
    assert "Verify that the cluster has nothing left of it" in said
    # The control host of this site is down, too: its edge is the next step.
    assert "TASK [groundup.cloud.edge : Converge HAProxy and the virtual IP]" in done.stdout
    assert done.returncode != 0
