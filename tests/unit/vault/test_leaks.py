"""The search for leaks sees what it is there to see: a search that finds nothing must be one that could have."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.tests.e2e.leaks import Leaks, command_lines

PASSWORD = "kX9bTq2LmZ7pVw4sYc1nRd8fHg3jAe5u"


def test_a_password_on_a_command_line_is_seen_while_the_process_runs() -> None:
    leaks = Leaks({"a/b": PASSWORD})
    with command_lines(every=0.02) as lines:
        argv = [sys.executable, "-c", "input()", f"--password={PASSWORD}"]
        with subprocess.Popen(argv, stdin=subprocess.PIPE) as process:  # until it is told that it was seen
            unseen = wait_until(lambda: PASSWORD.encode() not in b"".join(tuple(lines)), timeout=120, pause=0.05)
            process.communicate(b"\n")
    assert not unseen
    leaks.look_at_commands(lines)
    assert {name for _, name in leaks.seen} == {"a/b"}


def test_a_password_on_standard_input_is_not() -> None:
    leaks = Leaks({"a/b": PASSWORD})
    with command_lines(every=0.02) as lines:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.3)"], input=PASSWORD, text=True, check=True)
    leaks.look_at_commands(lines)
    assert leaks.seen == set()


def test_files_are_looked_through_at_any_depth_but_for_those_left_out(tmp_path: Path) -> None:
    for name in ("plain", "logs/deep/run.log", "lab/host/file"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "plain").write_text("nothing")
    (tmp_path / "logs/deep/run.log").write_bytes(b"\xff" + base64.b64encode(f"x={PASSWORD}".encode()))
    (tmp_path / "lab/host/file").write_text(PASSWORD)
    leaks = Leaks({"a/b": PASSWORD, "c/d": "another-value"})
    assert leaks.look_through(tmp_path, but=["lab"]) == 2
    assert leaks.seen == {(str(tmp_path / "logs/deep/run.log"), "a/b")}


def test_what_was_seen_is_told_by_name_only() -> None:
    leaks = Leaks({"a/b": PASSWORD})
    leaks.look("output", f"connecting with {PASSWORD}")
    assert leaks.seen == {("output", "a/b")}
    assert PASSWORD not in repr(leaks.seen)
