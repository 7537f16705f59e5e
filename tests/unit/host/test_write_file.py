"""A file is replaced in one step: whoever reads it sees the old one or the new one, and nothing lies beside it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import file_error
from ansible_collections.groundup.cloud.plugins.module_utils._base.files import write_file


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_new_file_has_all_of_its_content_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    write_file(path, b"new\xff", mode=0o640)
    assert path.read_bytes() == b"new\xff"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "kill",
    [
        lambda patch: patch.setattr(os, "fsync", killed),
        lambda patch: patch.setattr(Path, "replace", killed),
    ],
    ids=["while writing", "before replacing"],
)
def test_a_killed_write_leaves_the_old_file_whole_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill: Callable[[pytest.MonkeyPatch], None]
) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    kill(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, b"new", mode=0o600)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_new_file_is_looked_at_before_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    seen: list[str] = []
    write_file(
        path,
        b"new",
        mode=0o600,
        valid=lambda candidate: seen.append(candidate.read_text()),
        before=lambda: seen.append(path.read_text()),
    )
    assert [*seen, path.read_text()] == ["new", "old", "new"]


def test_an_immutable_file_is_told_with_the_command_that_helps(tmp_path: Path) -> None:
    file, new = tmp_path / "resolv.conf", tmp_path / ".resolv.conf.x"
    file.touch()
    for error, place in (
        (PermissionError(errno.EPERM, "Operation not permitted", str(new), None, str(file)), file),
        (PermissionError(errno.EPERM, "Operation not permitted", str(new)), tmp_path),  # the directory is immutable
    ):
        said = str(file_error(error, host="host w-1"))
        assert "host w-1, " in said
        assert f"lsattr -d {place} " in said
        assert f"chattr -i -a {place}, " in said


def test_a_file_that_something_is_mounted_on_is_told_with_findmnt() -> None:
    error = OSError(errno.EBUSY, "Device or resource busy", "/etc/.resolv.conf.x", None, "/etc/resolv.conf")
    assert "findmnt /etc/resolv.conf there" in str(file_error(error, host="host w-1"))
