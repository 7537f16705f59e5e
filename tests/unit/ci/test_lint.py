"""`ci/lint` fails for each script of its own that is no shell, not only for the first one it names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = [
    path.relative_to(ROOT).as_posix()
    for directory in ("ci", ".ci")
    for path in sorted((ROOT / directory).iterdir())
    if path.is_file() and path.read_text().startswith("#!/usr/bin/env bash")
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree with the scripts, in which every other check passes."""
    for directory in ("ci", ".ci"):
        shutil.copytree(ROOT / directory, tmp_path / directory)
    (tmp_path / "ci/run").write_text("#!/bin/sh\nexit 0\n")
    return tmp_path


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tree / "ci/lint"], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("script", [each for each in SCRIPTS if each not in ("ci/lint", "ci/run")])
def test_a_script_that_is_no_shell_fails(tree: Path, script: str) -> None:
    sound = lint(tree)
    assert sound.returncode == 0, sound.stdout
    (tree / script).write_text((tree / script).read_text() + "if then\n")
    broken = lint(tree)
    assert broken.returncode == 1, broken.stdout
    assert script in broken.stdout.splitlines()[-1]
