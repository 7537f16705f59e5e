"""`ci/run` uses the environment of the requirements that are there now."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BOOTSTRAP = """#!/bin/sh
echo asked >> asked
mkdir -p .run venv
touch venv/.complete
echo "$PWD/venv" > .run/venv
"""


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"LC_ALL": "C"}, "C.UTF-8"),
        ({"LC_ALL": "POSIX"}, "C.UTF-8"),
        ({"LC_ALL": "xx_XX.UTF-8"}, "C.UTF-8"),  # not generated
        ({"LANG": "xx_XX.UTF-8"}, "C.UTF-8"),
        ({"LANG": "C.UTF-8", "LC_MESSAGES": "xx_XX.UTF-8"}, "C.UTF-8"),
        ({"LANG": "xx_XX.ISO-8859-1"}, "C.UTF-8"),
        ({}, "C.UTF-8"),
        ({"LANG": "C.UTF-8"}, ""),
        ({"LC_ALL": "C.UTF-8"}, "C.UTF-8"),
    ],
)
def test_ansible_gets_a_locale_that_it_takes(given: dict[str, str], used: str) -> None:
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    says = 'import locale, os; locale.setlocale(locale.LC_ALL, ""); print(os.environ.get("LC_ALL", ""))'
    done = subprocess.run(
        [ROOT / "ci/run", "python", "-c", says], env=environment | given, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == used


def test_an_environment_older_than_the_requirements_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    shutil.copy(ROOT / "ci/run", tmp_path / "ci/run")
    (tmp_path / "ci/bootstrap").write_text(BOOTSTRAP)
    (tmp_path / "ci/bootstrap").chmod(0o755)
    lock = tmp_path / "requirements-dev.txt"
    lock.write_text("a==1\n")
    os.utime(lock, (1, 1))

    def asked() -> int:
        subprocess.run(["ci/run", "true"], cwd=tmp_path, check=True)
        return len((tmp_path / "asked").read_text().splitlines())

    assert asked() == 1
    assert asked() == 1
    newer = (tmp_path / ".run/venv").stat().st_mtime + 10
    os.utime(lock, (newer, newer))  # as `git pull` leaves a file it changed
    assert asked() == 2
