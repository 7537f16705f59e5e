"""Faults of the machine and of the lock in the middle of things: the artifact is named, with a remedy."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import file_digest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.store import remove_tree
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.unpack import unpacked
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make import machine

MakeLock = Callable[..., Lock]


def program(directory: Path, name: str, script: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


def test_a_root_that_cannot_be_unpacked_is_named_with_what_tar_said_and_leaves_nothing(cache: Path) -> None:
    archive = cache / "made/root.tar.zst"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"not what zstd writes")
    root = supply.Artifact(
        name="root", kind="root", version="13", key="0" * 16, path=archive, sha256=file_digest(archive), image=None
    )
    with pytest.raises(GroundupError, match=r"(?s)tar .*exit code 2: .* unsupported format.* root 13") as caught:
        unpacked(root)
    assert f"make room in {cache / 'unpacked'}" in caught.value.remedy
    assert [path.name for path in (cache / "unpacked").iterdir()] == [".root.lock"]


def test_a_tree_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin", "rm", "echo 'rm: cannot remove: Device or resource busy' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(GroundupError, match=r"(?s)rm .*exit code 1: rm: cannot remove: Device or .*/tree"):
        remove_tree(tmp_path / "tree")


@pytest.mark.parametrize("broken", [True, False], ids=["apt fails", "no apt"])
def test_apt_settings_that_cannot_be_read_are_told_with_apts_own_words(
    broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        program(tmp_path / "bin", "apt-config", "echo 'E: Syntax error apt.conf:1' >&2; exit 100")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    fault = "dump failed with exit code 100: E: Syntax error" if broken else "cannot be run: no such program"
    with pytest.raises(GroundupError, match=f"apt-config {fault}"):
        machine.apt_options()


@pytest.mark.parametrize(
    ("member", "said"),
    [("linux/other", "not found"), ("linux", "linux is no file"), (None, "not a gzip|could not be opened")],
)
def test_a_file_that_is_not_in_the_published_archive_is_told(
    member: str | None, said: str, tmp_path: Path, make_lock: MakeLock
) -> None:
    archive = tmp_path / "program.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name, kind in (("linux", tarfile.DIRTYPE), ("linux/program", tarfile.REGTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            tar.addfile(info, io.BytesIO())
    if member is None:
        archive.write_text("a page that says sorry")
    digest = f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}"
    file = {"url": archive.as_uri(), "digest": digest, "member": member or "linux/program"}
    lock = make_lock(a={"upstream": {"files": {"program": file}}})
    with pytest.raises(GroundupError, match=f"artifact a 1: .*cannot be taken out of .*({said})") as caught:
        supply.ensure("a", lock=lock, source="upstream")
    assert caught.value.where.endswith("artifacts.a.upstream.files.program.member")


@pytest.mark.parametrize("path", [["none.zip"], ["inner.zip", "none"], ["program"]])
def test_a_program_that_is_not_in_the_wheel_is_told(
    path: list[str], tmp_path: Path, make_lock: MakeLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("program", "#!/bin/sh\n")
    wheel = wheels / "tool-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
        archive.writestr("program", "#!/bin/sh\n")
        archive.writestr("tool-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 1\n")
        archive.writestr("tool-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tool-1.dist-info/RECORD", "")
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    inputs: dict[str, Any] = {
        "requirement": "tool==1",
        "wheel": file_digest(wheel),
        "module": "example.test/tool",
        "path": ["inner.zip", "program"],
    }
    entry = {"builder": "wheel_member", "provides": ["tool"]}
    if path == ["program"]:  # the right one first: what follows fails for the path alone
        made = supply.ensure("a", lock=make_lock(a={**entry, "inputs": inputs}))["a"]
        assert (made.path / "tool").read_text() == "#!/bin/sh\n"
        path = ["program", "more"]
    with pytest.raises(GroundupError, match=rf"artifact a 1: {path[-1]} cannot be taken out of {wheel.name}") as caught:
        supply.ensure("a", lock=make_lock(a={**entry, "inputs": {**inputs, "path": path}}))
    assert caught.value.where.endswith("artifacts.a.inputs.path")
