"""`ci/package-charts` never writes into the repository, however the way there is spelt."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("called", ["real", "link"])
@pytest.mark.parametrize("given", ["real", "link"])
def test_a_destination_inside_the_repository_is_refused(tmp_path: Path, called: str, given: str) -> None:
    (tmp_path / "real/ci").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    shutil.copy(ROOT / "ci/package-charts", tmp_path / "real/ci")
    command = [tmp_path / called / "ci/package-charts", tmp_path / "none", tmp_path / given / "packages"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, "choose a directory outside" in done.stderr) == (2, True), done.stderr
