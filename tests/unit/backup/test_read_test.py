"""The restore test of MariaDB's part: what was killed says nothing of the set."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.read_test import NotRunError, restored
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Executed
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

PROGRAMS = ("mbstream", "mariadb-backup", "mariadb-admin", "mariadbd")


class Scratch:
    """A container whose programs do what ``program`` is told to do."""

    name = "pod scratch"

    def __init__(self, home: Path, *, program: str = "", does: str = "") -> None:
        self.home = home
        for name in PROGRAMS:
            text = does if name == program else {"mbstream": "cat", "mariadb-admin": "exit 1"}.get(name, "")
            (home / name).write_text(f"#!/bin/bash\n{text}\n")
            (home / name).chmod(0o700)

    def run(self, argv: Sequence[str], *, source: Iterable[bytes] = (), sink: Any = None) -> Executed:
        assert sink is None
        found = {**os.environ, "PATH": f"{self.home}:{os.environ['PATH']}"}
        done = subprocess.run(argv, input=b"".join(source), capture_output=True, env=found, check=False)
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return Executed(code=code, stdout=done.stdout.decode(), stderr=done.stderr.decode())


@pytest.mark.parametrize("program", ["mbstream", "mariadb-backup", "mariadbd"])
@pytest.mark.parametrize("signal", ["KILL", "TERM"])
def test_a_program_that_somebody_killed_makes_no_part_damaged(tmp_path: Path, program: str, signal: str) -> None:
    """Such as by the kernel, for memory."""
    container = Scratch(tmp_path, program=program, does=f"kill -{signal} $$")
    with pytest.raises(NotRunError, match="pod scratch: it was killed"):
        restored(container, [b"1234"], size=4, home=str(tmp_path))


def test_a_shell_that_was_killed_makes_no_part_damaged(tmp_path: Path) -> None:
    container: Any = SimpleNamespace(name="pod scratch", run=lambda *_, **__: Executed(code=137, stdout="", stderr=""))
    with pytest.raises(NotRunError, match="pod scratch: it was killed"):
        restored(container, [b"1234"], size=4, home=str(tmp_path))


@pytest.mark.parametrize(
    ("program", "does", "told"),
    [
        ("mbstream", "exit 1", "its stream does not unpack"), ("mariadb-backup", "exit 1", "cannot prepare"),
        ("mariadb-backup", "kill -ABRT $$", "cannot prepare"), ("mariadbd", "exit 1", "MariaDB does not start"),
    ],
)  # fmt: skip
def test_a_copy_that_a_program_refuses_is_damaged(tmp_path: Path, program: str, does: str, told: str) -> None:
    with pytest.raises(GroundupError, match=f"does not restore: .*{told}"):
        restored(Scratch(tmp_path, program=program, does=does), [b"1234"], size=4, home=str(tmp_path))


def test_a_set_that_fails_its_test_is_copied_off_the_site_all_the_same() -> None:
    (play,) = (
        one for one in yaml.safe_load((COLLECTION / "playbooks/backup.yml").read_text()) if one["name"] == "Backup sets"
    )
    (told,) = (task for task in play["tasks"] if "block" in task)
    (both,) = told["block"]
    steps = [[task["groundup.cloud.backup_set"]["step"] for task in both[part]] for part in ("block", "always")]
    assert (steps, sorted(both.keys() - {"name"})) == ([["test"], ["upload"]], ["always", "block"])
