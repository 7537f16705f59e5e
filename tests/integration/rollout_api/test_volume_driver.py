"""ceph-csi's chart with the plan's values, on a real API server: no node, so no pod starts, and no volume is made.

The chart is the artifact of the lock, or GROUNDUP_CEPH_CSI_CHARTS names a directory with its archive.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import Helm
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.converge import converge
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.diff import diff_text
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.ready import wait_ready
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import ReleaseDiff
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform import versions
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.builders import upstream
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import generate

from .control_plane import ControlPlane

CLASS, PODS = "/apis/storage.k8s.io/v1/storageclasses/general", "/apis/apps/v1/namespaces/ceph-csi-rbd"
SITE = {
    "plugin": "groundup.cloud.site", "site": "csi", "domain": "csi.test", "profile": "lab",
    "machines": {"control": {"count": 1}, "worker": {"count": 2}, "storage": {"count": 3}},
    "openstack": {"release": "2026.1", "services": ["keystone"]},
    "supply": {"source": "registry", "registry": "registry.csi.test:5000", "files_url": "http://registry.csi.test:8080"},
}  # fmt: skip


def plan_of(**storage: Any) -> Plan:
    """Return the plan of a site whose volumes are images in its Ceph."""
    return make_plan(build_site({**SITE, "storage": {"backend": "native", "volumes": "ceph-rbd", **storage}}))


class Driver:
    """The driver on the control plane."""

    def __init__(self, control_plane: ControlPlane, charts: Path) -> None:
        self.api, processes = Api(control_plane.kubeconfig), Processes()
        self._helm = Helm(
            binary=control_plane.helm, kubeconfig=control_plane.kubeconfig, charts=str(charts), processes=processes
        )

    def converge(self, releases: tuple[ReleasePlan, ...], *, check: bool = False) -> list[ReleaseDiff]:
        """Install it, or predict."""
        return converge(releases, version="1.36.3", api=self.api, helm=self._helm, say=print, check=check)


@pytest.fixture(scope="module")
def charts() -> Path:
    """Where the chart is; skips, with the reason, where it is not."""
    where = os.environ.get("GROUNDUP_CEPH_CSI_CHARTS")
    if not where and supply.missing(versions.RBD.chart):
        pytest.skip("GROUNDUP_CEPH_CSI_CHARTS is not set, and the cache lacks ceph-csi-charts (docs/evidence.md)")
    return Path(where) if where else supply.ensure(versions.RBD.chart)[versions.RBD.chart].path


@pytest.fixture
def driver(control_plane: ControlPlane, charts: Path) -> Iterator[Driver]:
    """The driver, removed again."""
    yield Driver(control_plane, charts)
    command = [str(control_plane.helm), "uninstall", "ceph-csi-rbd", "--namespace", "ceph-csi-rbd"]
    command += ["--kubeconfig", str(control_plane.kubeconfig), "--ignore-not-found"]
    subprocess.run(command, check=True, capture_output=True)


def keyed(plan: Plan, key: str) -> tuple[ReleasePlan, ...]:
    """Return the releases as the module installs them, with the store's key."""
    (release,) = plan.kubernetes.storage_releases
    return (replace(release, values={**release.values, "secret": {**release.values["secret"], "userKey": key}}),)


def test_the_chart_is_installed_with_the_plans_values_and_a_second_run_changes_nothing(driver: Driver) -> None:
    plan, key = plan_of(), generate("ceph/client.kubernetes")
    releases = keyed(plan, key)
    assert plan.ceph
    assert [diff.release for diff in driver.converge(releases, check=True)] == ["ceph-csi-rbd"]
    assert [diff.release for diff in driver.converge(releases)] == ["ceph-csi-rbd"]
    assert driver.converge(releases) == []
    assert driver.converge(releases, check=True) == []
    general = driver.api.get(CLASS)
    assert general["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
    assert (general["provisioner"], general["reclaimPolicy"]) == ("rbd.csi.ceph.com", "Delete")
    assert general["allowVolumeExpansion"] is True
    parameters = general["parameters"]
    assert (parameters["clusterID"], parameters["pool"]) == (plan.ceph.fsid, "kubernetes")
    secret = driver.api.get(
        f"/api/v1/namespaces/ceph-csi-rbd/secrets/{parameters['csi.storage.k8s.io/node-stage-secret-name']}"
    )
    held = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
    assert held == {"userID": "kubernetes", "userKey": key, "encryptionPassphrase": ""}
    config = driver.api.get("/api/v1/namespaces/ceph-csi-rbd/configmaps/ceph-csi-config")["data"]["config.json"]
    assert all(f'"{one.address}"' in config for one in plan.ceph.monitors)
    pods = [driver.api.get(f"{PODS}/deployments/ceph-csi-rbd-provisioner")]
    pods += [driver.api.get(f"{PODS}/daemonsets/ceph-csi-rbd-nodeplugin")]
    assert pods[0]["spec"]["replicas"] == 2
    images = {one["image"] for item in pods for one in item["spec"]["template"]["spec"]["containers"]}
    assert images == {plan.supply.images[name] for name in versions.RBD.images}


def test_a_changed_plan_changes_what_it_says_and_a_changed_key_is_shown_as_a_digest(driver: Driver) -> None:
    key, other = generate("ceph/client.kubernetes"), generate("ceph/client.kubernetes")
    driver.converge(keyed(plan_of(), key))
    moved = keyed(plan_of(monitors=1), other)
    predicted = driver.converge(moved, check=True)
    assert {(change.kind, change.ref.kind) for diff in predicted for change in diff.changes} == {
        ("change", "ConfigMap"), ("change", "Secret"),
    }  # fmt: skip
    text = diff_text(predicted)
    assert "data.userKey: 'sha256:" in text
    encoded = (base64.b64encode(one.encode()).decode() for one in (key, other))
    assert not [one for one in (key, other, *encoded) if one in text]
    assert driver.converge(moved) == predicted


def test_a_class_of_somebody_else_is_refused_before_anything_is_applied(driver: Driver) -> None:
    other = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "rancher.io/local-path"}
    driver.api.request("POST", CLASS.rpartition("/")[0], body={**other, "metadata": {"name": "general"}})
    try:
        with pytest.raises(GroundupError, match="StorageClass/general cannot be applied: it exists"):
            driver.converge(keyed(plan_of(), generate("ceph/client.kubernetes")))
        assert driver.api.get("/api/v1/secrets", labelSelector="owner=helm,name=ceph-csi-rbd")["items"] == []
    finally:
        driver.api.delete(CLASS)


def test_to_verify_waits_for_pods_and_names_what_does_not_run(driver: Driver) -> None:
    releases = keyed(plan_of(), generate("ceph/client.kubernetes"))
    with pytest.raises(GroundupError, match="release ceph-csi-rbd is not installed"):
        wait_ready(driver.api, releases, timeout=0)
    driver.converge(releases)
    with pytest.raises(GroundupError, match=r"Deployment/ceph-csi-rbd-provisioner: .* of 2 pods"):
        wait_ready(driver.api, releases, timeout=5)


@pytest.fixture
def controller(charts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A controller of the site with the chart in its cache; returns its site file."""
    if supply.missing("helm"):
        pytest.skip("the cache lacks helm: run `make supply` first")
    helm = supply.ensure("helm")["helm"].path.parent
    places = {"GROUNDUP_CACHE": "cache", "GROUNDUP_STATE": "state", "XDG_CONFIG_HOME": "config"}
    for name, place in places.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    shutil.copytree(helm, tmp_path / "cache/artifacts/helm" / helm.name, copy_function=shutil.copy2)

    def download(url: str, destination: Path) -> str:
        found = shutil.copy(charts / url.rpartition("/")[2], destination)
        return f"sha256:{hashlib.sha256(Path(found).read_bytes()).hexdigest()}"

    monkeypatch.setattr(upstream, "download", download)
    supply.ensure(versions.RBD.chart)  # held against the digest of the lock
    site = tmp_path / "site.yml"
    site.write_text(json.dumps({**SITE, "storage": {"backend": "native", "volumes": "ceph-rbd"}}))
    return site


def test_the_play_predicts_applies_verifies_and_shows_no_key(
    control_plane: ControlPlane, driver: Driver, controller: Path, tmp_path: Path
) -> None:
    plays = yaml.safe_load((COLLECTION / "playbooks/storage.yml").read_text())
    (play,) = (one for one in plays if one["name"] == "Volumes of the cluster")
    (wait,) = (task for one in play["tasks"] if (task := one["groundup.cloud.cluster"])["step"] == "wait")
    wait["timeout"] = 5  # no pod will run
    (tmp_path / "play.yml").write_text(json.dumps([play]))

    def run(*flags: str, code: int = 0) -> str:
        done = subprocess.run(
            ["ansible-playbook", "-i", controller, tmp_path / "play.yml", "-vvv", "--diff", *flags],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    assert "+ ceph-csi-rbd: StorageClass/general" in run("--tags", "check"), "before there is a cluster, or a store"
    secrets = open_store("csi")
    secrets.ensure(["ceph/client.kubernetes"])
    key = secrets.get("ceph/client.kubernetes")
    shutil.copy(control_plane.kubeconfig, tmp_path / "state/csi/kubeconfig")
    said = [run("--tags", "check"), run("--tags", "apply"), run("--tags", "apply"), run("--tags", "verify", "--check")]
    assert ["changed=1" in one for one in said] == [True, True, False, False]
    assert driver.api.find(CLASS)
    said.append(run("--tags", "verify", code=2))
    assert "Deployment/ceph-csi-rbd-provisioner" in said[-1]
    encoded = base64.b64encode(key.encode()).decode()
    assert not [one for one in said if key in one or encoded in one]
