"""Manifests of the role: storage provisioner and pod network."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ROLE = ROOT / "roles/kubernetes"


@pytest.fixture
def volumes() -> dict[str, Any]:
    """Return the provisioner's configuration as the role gives it to the cluster."""
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined, autoescape=False)  # noqa: S701  # YAML, not HTML
    text = environment.from_string((ROLE / "templates/local-path.yml.j2").read_text()).render(
        kubernetes_shell="the-image-with-a-shell", kubernetes_images={}, kubernetes_plan={"storage_class": "general"}
    )
    found = [item["data"] for item in yaml.safe_load_all(text) if item["kind"] == "ConfigMap"]
    data: dict[str, Any] = found[0]
    return data


def test_a_volume_is_not_open_to_every_user_of_its_node(volumes: dict[str, Any], tmp_path: Path) -> None:
    volume = tmp_path / "pvc-1"
    environment = {"VOL_DIR": str(volume), "PATH": os.environ["PATH"]}
    subprocess.run(["sh", "-c", volumes["setup"]], check=True, env=environment)
    assert stat.S_IMODE(volume.stat().st_mode) == 0o755
    (volume / "ibdata1").touch()
    subprocess.run(["sh", "-c", volumes["teardown"]], check=True, env=environment)
    assert not volume.exists()


def test_the_data_of_a_deleted_claim_stay_for_thirty_days(volumes: dict[str, Any], tmp_path: Path) -> None:
    now = int(time.time())
    names = {f".deleted-{now - 31 * 86400}-old", f".deleted-{now - 29 * 86400}-young", ".deleted-by-hand", "other"}
    for name in (*names, "pvc 1_openstack_mysql-data-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ibdata1").write_text(name)
    environment = {"VOL_DIR": str(tmp_path / "pvc 1_openstack_mysql-data-0"), "PATH": os.environ["PATH"]}
    for _ in range(2):  # a helper that was killed runs again
        subprocess.run(["sh", "-c", volumes["teardown"]], check=True, env=environment)
    (kept,) = {path.name for path in tmp_path.iterdir()} - names
    assert re.fullmatch(r"\.deleted-\d+-pvc 1_openstack_mysql-data-0", kept)
    assert (tmp_path / kept / "ibdata1").exists()
    assert sorted(names - {path.name for path in tmp_path.iterdir()}) == [f".deleted-{now - 31 * 86400}-old"]


def test_helpers_of_volumes_and_the_probe_run_in_the_same_image(volumes: dict[str, Any]) -> None:
    helper = yaml.safe_load(volumes["helperPod.yaml"])
    assert helper["spec"]["containers"][0]["image"] == "the-image-with-a-shell"
    tasks = yaml.safe_load((ROLE / "tasks/verify.yml").read_text())
    (probe,) = (task[name] for task in tasks if (name := "groundup.cloud.cluster") in task)
    assert probe["image"] == "{{ kubernetes_shell }}"


def flannel(**cni: Any) -> dict[str, Any]:
    """Return what the role gives the cluster for flannel, by kind."""
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined, autoescape=False)  # noqa: S701  # YAML, not HTML
    text = environment.from_string((ROLE / "templates/flannel.yml.j2").read_text())
    cni = {"name": "flannel", "backend": "vxlan", "mtu": 1450, "overhead": 50} | cni
    found = text.render(kubernetes_plan={"pod_cidr": "10.233.64.0/18", "cni": cni}, kubernetes_images={})
    return {item["kind"]: item for item in yaml.safe_load_all(found)}


def test_flannel_starts_again_with_another_backend_or_mtu() -> None:
    """It reads its configuration only when it starts: old nodes would keep theirs, and new ones have the other."""
    (first, *others) = (flannel(**one)["DaemonSet"] for one in ({}, {"backend": "host-gw"}, {"mtu": 8950}))
    assert all(other != first for other in others)


def test_flannel_has_the_networks_mtu_which_a_link_of_vlans_may_exceed() -> None:
    backend = json.loads(flannel()["ConfigMap"]["data"]["net-conf.json"])["Backend"]
    assert backend == {"Type": "vxlan", "MTU": 1500}
