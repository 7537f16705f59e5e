"""Every value given to ceph-csi's chart exists in it, with a type it can take; and what the chart makes of them.

The chart is the artifact of the lock, or GROUNDUP_CEPH_CSI_CHARTS names a directory with its archive.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform import versions
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock

from .conftest import DATA, ROOT, plain
from .derive import types
from .derive_csi import CSI_CONFIG
from .keys import read
from .test_pod_networks import faults

CHART = "ceph-csi-rbd"


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The plan of the example cloud with the cluster's volumes in its Ceph."""
    data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
    return make_plan(build_site({**data, "storage": {"backend": "native", "volumes": "ceph-rbd"}}))


@pytest.fixture(scope="module")
def known() -> Any:
    """Key paths and types of the chart's values."""
    return read(DATA / "csi-keys.json")["keys"][CHART]


@pytest.fixture(scope="module")
def chart() -> Path:
    """The chart's archive."""
    where = os.environ.get("GROUNDUP_CEPH_CSI_CHARTS")
    if not where and supply.missing(versions.RBD.chart):
        pytest.skip("GROUNDUP_CEPH_CSI_CHARTS is not set, and the cache lacks ceph-csi-charts (docs/evidence.md)")
    place = Path(where) if where else supply.ensure(versions.RBD.chart)[versions.RBD.chart].path
    return place / f"{CHART}-{versions.RBD.chart_version}.tgz"


def defaults(chart: Path) -> Any:
    """Return the values in the archive."""
    with tarfile.open(chart) as archive:
        stream = archive.extractfile(f"{CHART}/values.yaml")
        assert stream is not None
        return yaml.safe_load(stream.read())


def test_every_value_exists_in_the_chart(plan: Plan, known: Any) -> None:
    (release,) = plan.kubernetes.storage_releases
    assert list(faults(plain(release.values), known)) == []


def test_the_recorded_keys_and_the_locks_images_are_those_of_the_chart_in_the_lock(chart: Path, known: Any) -> None:
    values = defaults(chart)
    assert known == {**types(values), "csiConfig": CSI_CONFIG}
    parts = [one for part in ("nodeplugin", "provisioner") for one in values[part].values() if isinstance(one, dict)]
    named = [one["image"] for one in parts if "image" in one]
    artifacts = load_lock().artifacts
    locked = {artifacts[name].upstream.reference for name in versions.RBD.images}  # type: ignore[union-attr]
    assert locked == {f"{one['repository']}:{one['tag']}" for one in named}


def test_the_chart_renders_twice_the_same_with_nothing_from_elsewhere(plan: Plan, chart: Path, helm: Path) -> None:
    (release,) = plan.kubernetes.storage_releases
    command = [str(helm), "template", release.name, str(chart), "--namespace", release.namespace, "--values", "-"]
    texts = [
        subprocess.run(
            [*command, "--kube-version", "v1.36.3", "--skip-tests"],
            input=json.dumps(plain(release.values)), capture_output=True, text=True, check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert texts[0] == texts[1]
    objects = [item for item in yaml.safe_load_all(texts[0]) if item]
    pods = [item["spec"]["template"]["spec"] for item in objects if item["kind"] in ("DaemonSet", "Deployment")]
    assert len(pods) == 2
    images = {container["image"] for spec in pods for container in spec["containers"]}
    assert images == {plan.supply.images[name] for name in versions.RBD.images}
    ports = [port for spec in pods for container in spec["containers"] for port in container.get("ports", [])]
    assert ports == [], "a port of a pod on the host's network is open on the host"
    (secret,) = (item["stringData"] for item in objects if item["kind"] == "Secret")
    assert secret == {"userID": "kubernetes", "userKey": "secretcephclient.kubernetes", "encryptionPassphrase": ""}
