"""Environments of the lock that the control node runs itself."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.systems import ENVIRONMENT
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache import unpack
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact, digest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.local_environment import environment_artifact


def packed(place: Path, program: str) -> Artifact:
    """An artifact of files with an environment in it, as the builder packs one."""
    (place / "tree/bin").mkdir(parents=True)
    (place / "tree/bin/tempest").write_text(program)
    (place / "files").mkdir()
    with tarfile.open(place / "files" / ENVIRONMENT, "w:gz") as archive:
        archive.add(place / "tree", arcname=".")
    path = place / "files"
    return Artifact(
        name="tempest-12", kind="files", version="1", key="k", path=path, sha256=digest(path), image=None
    )  # fmt: skip


def test_an_environment_is_unpacked_once_and_again_when_its_content_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDUP_CACHE", str(tmp_path / "cache"))
    artifact = packed(tmp_path / "a", "one")
    first = unpack.unpacked(artifact, archive=ENVIRONMENT)
    assert (first / "bin/tempest").read_text() == "one"
    made = first.stat().st_ino
    assert unpack.unpacked(artifact, archive=ENVIRONMENT).stat().st_ino == made
    other = unpack.unpacked(packed(tmp_path / "b", "two"), archive=ENVIRONMENT)
    assert (other / "bin/tempest").read_text() == "two"


def test_a_changed_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_CACHE", str(tmp_path / "cache"))
    artifact = packed(tmp_path / "a", "one")
    (artifact.path / ENVIRONMENT).write_bytes(b"other")
    with pytest.raises(GroundupError, match="tempest-12"):
        unpack.unpacked(artifact, archive=ENVIRONMENT)


@pytest.mark.parametrize("release", ["12", "13"])
def test_each_supported_system_has_an_environment_of_the_same_release(release: str) -> None:
    name = environment_artifact("tempest", {"ID": "debian", "VERSION_ID": release})
    entry = supply.load_lock().artifacts[name]
    assert entry.optional
    assert entry.needs == (f"root-python-{release}",)
    assert entry.inputs["requirements"].endswith(f"debian{release}")


@pytest.mark.parametrize("system", [{"ID": "ubuntu", "VERSION_ID": "24.04"}, {"ID": "ubuntu", "VERSION_ID": "12"}, {}])
def test_another_system_is_refused_with_those_that_can(system: dict[str, str]) -> None:
    with pytest.raises(GroundupError, match="Debian 12 or Debian 13"):
        environment_artifact("tempest", system)


def test_both_lists_have_the_same_test_suites() -> None:
    place = COLLECTION / "supply/images/python"

    def suites(release: str) -> list[str]:
        lines = (place / f"tempest-debian{release}.txt").read_text().splitlines()
        return [line.split(" ")[0] for line in lines if line.startswith("tempest==") or "-tempest-plugin==" in line]

    assert suites("12") == suites("13")
    assert len(suites("12")) == 8
