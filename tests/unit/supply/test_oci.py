"""Image archives: the same bytes for the same tree, readable by skopeo, and honest about what is inside."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.served import lay_out
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.oci import manifest_digest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.sbom import go_components

from .conftest import FakeBuilder

PROGRAM_IMAGE: dict[str, Any] = {
    "kind": "image",
    "builder": "image",
    "image": "test/program:1",
    "needs": ["program"],
    "inputs": {
        "files": {"/usr/bin/program": "program:file"},
        "links": {"/bin/sh": "../usr/bin/program"},
        "entrypoint": ["/usr/bin/program"],
    },
}


@pytest.fixture
def image(fake: FakeBuilder, make_lock: Callable[..., Lock], lines: list[str]) -> tuple[Lock, supply.Artifact]:
    """An image of one program."""
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE)
    return lock, supply.ensure("image", progress=lines.append, lock=lock)["image"]


def test_an_image_built_twice_has_the_same_digest(image: tuple[Lock, supply.Artifact], lines: list[str]) -> None:
    lock, first = image
    digest = manifest_digest(first.path)
    second = supply.ensure("image", progress=lines.append, lock=lock, rebuild=True)["image"]
    assert second.built
    assert second.sha256 == first.sha256
    assert manifest_digest(second.path) == digest


@pytest.mark.root
def test_variants_share_the_archive_and_the_layers_of_an_image_and_start_as_they_say(
    fake: FakeBuilder, make_lock: Callable[..., Lock]
) -> None:
    del fake
    variants = {"test/shell:1": {"entrypoint": [], "cmd": ["sh"]}, "test/nobody:2": {"user": "65534"}}
    inputs = {**PROGRAM_IMAGE["inputs"], "modes": {"/usr/bin/program": "4755"}, "variants": variants}
    lock = make_lock(program={}, image={**PROGRAM_IMAGE, "inputs": inputs})
    archive = supply.ensure("image", lock=lock)["image"].path

    def inspect(name: str, *options: str) -> dict[str, Any]:
        command = ["skopeo", "inspect", *options, f"oci-archive:{archive}:{name}"]
        return dict(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))

    names = ("test/program:1", *variants)
    assert len({tuple(inspect(name)["Layers"]) for name in names}) == 1
    own, shell, nobody = (inspect(name, "--config")["config"] for name in names)
    assert own["Entrypoint"] == nobody["Entrypoint"] == ["/usr/bin/program"]
    assert (shell.get("Entrypoint"), shell["Cmd"], nobody["User"]) == (None, ["sh"], "65534")


@pytest.mark.root
def test_skopeo_reads_the_archive_and_its_configuration(image: tuple[Lock, supply.Artifact]) -> None:
    command = ["skopeo", "inspect", "--config", f"oci-archive:{image[1].path}"]
    config = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert config["config"]["Entrypoint"] == ["/usr/bin/program"]
    assert config["created"] == "2026-01-01T00:00:00Z"
    assert config["config"]["Labels"]["org.opencontainers.image.version"] == "1"


@pytest.mark.root
def test_the_layer_has_the_files_links_and_a_tmp_that_all_may_write(
    image: tuple[Lock, supply.Artifact], tmp_path: Path
) -> None:
    directory = f"dir:{tmp_path / 'image'}"
    subprocess.run(["skopeo", "--insecure-policy", "copy", "-q", f"oci-archive:{image[1].path}", directory], check=True)
    (layer,) = json.loads((tmp_path / "image/manifest.json").read_text())["layers"]
    blob = tmp_path / "image" / layer["digest"].removeprefix("sha256:")
    subprocess.run(["zstd", "-q", "-d", blob, "-o", tmp_path / "layer.tar"], check=True)
    with tarfile.open(tmp_path / "layer.tar") as tar:
        members = {member.name: member for member in tar}
    assert members["./usr/bin/program"].mode == 0o755
    assert members["./bin/sh"].linkname == "../usr/bin/program"
    assert members["./tmp"].mode == 0o1777
    assert {member.mtime for member in members.values()} == {1767225600}
    assert list(members) == sorted(members)


def test_the_sbom_of_an_image_lists_what_its_programs_were_linked_from(image: tuple[Lock, supply.Artifact]) -> None:
    content = json.loads(image[1].sbom.read_text())
    assert content["bomFormat"] == "CycloneDX"
    assert [component["purl"] for component in content["components"]] == ["pkg:golang/example.test/module@v1"]


def test_a_replaced_go_module_is_listed_as_its_replacement() -> None:
    printed = (
        "/p: go1.26.8\n\tpath\tk8s.io/kubernetes/cmd/kubelet\n\tmod\tgroundup.cloud/supply/kubernetes\t(devel)\t\n"
        "\tdep\tk8s.io/api\tv0.36.3\n\t=>\tk8s.io/api\tv0.36.4\th1:x=\n\tdep\tgo.uber.org/zap\tv1.27.1\th1:y=\n"
    )
    assert [(c.name, c.version) for c in go_components(printed)] == [
        ("k8s.io/api", "v0.36.4"),
        ("go.uber.org/zap", "v1.27.1"),
    ]


def test_files_are_laid_out_by_artifact_and_version_with_checksums(
    fake: FakeBuilder, make_lock: Callable[..., Lock], lines: list[str], tmp_path: Path
) -> None:
    del fake
    artifact = supply.ensure("a", progress=lines.append, lock=make_lock(a={"version": "1.2"}))["a"]
    (written,) = lay_out(tmp_path / "tree", artifact)
    assert written == tmp_path / "tree/a/1.2/file"
    subprocess.run(["sha256sum", "--check", "--quiet", "file.sha256"], cwd=written.parent, check=True)
    assert lay_out(tmp_path / "tree", artifact) == []


def test_two_versions_of_one_family_are_laid_out_side_by_side(
    fake: FakeBuilder, make_lock: Callable[..., Lock], lines: list[str], tmp_path: Path
) -> None:
    del fake
    lock = make_lock(a={"version": "1"}, b={"version": "2", "serves": "a"})
    for artifact in supply.ensure(None, progress=lines.append, lock=lock).values():
        lay_out(tmp_path / "tree", artifact)
    assert [(tmp_path / f"tree/a/{version}/file").read_text() for version in "12"] == ["a", "b"]
    assert not (tmp_path / "tree/b").exists()


def test_a_damaged_file_is_not_laid_out(
    fake: FakeBuilder, make_lock: Callable[..., Lock], lines: list[str], tmp_path: Path
) -> None:
    del fake
    artifact = supply.ensure("a", progress=lines.append, lock=make_lock(a={}))["a"]
    before = (artifact.path / "file").stat()
    (artifact.path / "file").write_bytes(b"X" * before.st_size)
    os.utime(artifact.path / "file", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(GroundupError, match="artifact a in the cache is damaged"):
        lay_out(tmp_path / "tree", artifact)
    assert not list(tmp_path.glob("tree/**/file"))
