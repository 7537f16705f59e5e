"""A cluster as its tests handle it: playbooks run on its site, what it consists of, and hosts that lose everything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import is_ready
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/kube-system/pods"


def command(playbook: str, *arguments: str, site: Path = SITE_FILE) -> list[str]:
    """Return the command that runs a playbook of the collection on the site."""
    return [str(ROOT / "ci/run"), "ansible-playbook", "-i", str(site), f"groundup.cloud.{playbook}", *arguments]


def play(playbook: str, *arguments: str, site: Path = SITE_FILE, code: int = 0, **variables: object) -> str:
    """Run a playbook with extra ``variables`` and return what it said. Fails unless it ends with ``code``."""
    done = subprocess.run(
        command(playbook, *arguments, "-e", json.dumps(variables), site=site),
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=3000, env=os.environ,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == code, f"{playbook} ended with {done.returncode}\n{said[-12000:]}"
    return said


def site_with(place: Path, old: str, new: str, *, site: Path = SITE_FILE) -> Path:
    """Copy the site file with what lies beside it to ``place``, ``new`` for ``old``; return the copy.

    It is the same site: its state is found by the name in it. No test writes to the file that the tree ships.
    """
    text = site.read_text(encoding="utf-8")
    assert old in text, f"{site} does not say {old}"
    shutil.copytree(site.parent, place, dirs_exist_ok=True)
    copy = place / site.name
    copy.write_text(text.replace(old, new), encoding="utf-8")
    return copy


def nodes(api: Api) -> dict[str, bool]:
    """Return whether each node of the cluster is Ready, by its name."""
    return {node["metadata"]["name"]: is_ready(node) for node in api.get(NODES)["items"]}


def etcds(api: Api) -> set[str]:
    """Return the hosts on which a member of etcd is ready."""
    pods = api.get(PODS, labelSelector="component=etcd")["items"]
    return {pod["spec"]["nodeName"] for pod in pods if is_ready(pod)}


def power_off(site: str, host: str) -> None:
    """End a host of the lab as by its power."""
    runtime = ("runc", "--root", f"/run/groundup/{site}/runc")
    subprocess.run([*runtime, "delete", "--force", f"groundup.{site}.{host}"], check=True)


def lose(site: str, host: str, state: Path) -> None:
    """End a host of the lab as by its power, and remove its disks."""
    power_off(site, host)
    disk = state / "lab" / host
    subprocess.run(["umount", "--lazy", str(disk / "rootfs")], check=True)
    shutil.rmtree(disk)
