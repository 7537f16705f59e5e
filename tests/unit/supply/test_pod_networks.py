"""A site that chooses a pod network or driver whose images nobody could fetch: told by supply, with the remedy."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.builders.module_chart import pack
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock, load_lock


def without_digests(group: str) -> Lock:
    """Return the collection's lock, the digests of ``group`` not recorded."""
    lock, changed = load_lock(), {}
    for name in lock.groups[group]:
        entry = lock.artifacts[name]
        if entry.kind == "image" and entry.upstream:
            upstream = entry.upstream.model_copy(update={"digest": None})
            changed[name] = entry.model_copy(update={"upstream": upstream})
    return lock.model_copy(update={"artifacts": {**lock.artifacts, **changed}})


@pytest.mark.parametrize("group", ["cni-cilium", "cni-calico", "csi-ceph"])
def test_an_image_without_a_recorded_digest_is_refused_by_name_with_the_command_that_records_it(group: str) -> None:
    lock = without_digests(group)
    images = [name for name in lock.groups[group] if lock.artifacts[name].kind == "image"]
    for image in images:
        with pytest.raises(GroundupError, match=f"artifact {image} .*: no digest is recorded for [a-z]+.*/") as caught:
            supply.ensure(image, lock=lock)
        assert caught.value.remedy.endswith(f"supply resolve {image}")
    with pytest.raises(GroundupError) as caught:
        supply.ensure(images, lock=lock)
    assert all(f"supply resolve {image}" in str(caught.value) for image in images)


def test_the_driver_of_volumes_is_refused_as_long_as_nobody_recorded_the_digest_of_its_image() -> None:
    with pytest.raises(
        GroundupError, match=r"artifact cephcsi 3\.12\.2: no digest is recorded for quay\.io/"
    ) as caught:
        supply.ensure("cephcsi")
    assert caught.value.remedy.endswith("supply resolve cephcsi")


def test_an_image_whose_registry_cannot_be_reached_is_named_with_registry_and_remedy(tmp_path: Path) -> None:
    del tmp_path
    lock = load_lock()
    entry = lock.artifacts["cilium"]
    assert entry.upstream is not None
    closed = entry.upstream.model_copy(update={"reference": "127.0.0.1:1/cilium/cilium:v1.20.2"})
    lock = lock.model_copy(
        update={"artifacts": {**lock.artifacts, "cilium": entry.model_copy(update={"upstream": closed})}}
    )
    with pytest.raises(GroundupError, match=r"artifact cilium 1\.20\.2: 127\.0\.0\.1:1/\S+ cannot be copied") as caught:
        supply.ensure("cilium", lock=lock)
    assert "reach 127.0.0.1:1" in caught.value.remedy
    assert "source: registry" in caught.value.remedy


def test_a_chart_is_packed_to_the_same_bytes_below_its_own_name(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: chart\n")
    (chart / "templates/a.yaml").write_text("kind: A\n")
    pack(chart, tmp_path / "one.tgz", epoch=1)
    (chart / "Chart.yaml").touch()
    pack(chart, tmp_path / "two.tgz", epoch=1)
    assert (tmp_path / "one.tgz").read_bytes() == (tmp_path / "two.tgz").read_bytes()
    with gzip.open(tmp_path / "one.tgz") as packed, tarfile.open(fileobj=packed) as tar:
        assert tar.getnames() == ["chart/Chart.yaml", "chart/templates/a.yaml"]
