"""The journal of a machine: every line that was added is there, whatever happened to one before it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import WayStep

INSTALLED = WayStep(state="installed", verb="done", doing="it called home")


@pytest.mark.parametrize(
    "broken", [b'{"time": 1, "sta', b'{"state": "expected"}\n{"ti', b'{"state": "expected"}', b"\0\xff"]
)
def test_a_line_after_one_that_was_broken_off_is_whole(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "worker-1.jsonl"
    path.write_bytes(broken)
    Journal(path).note(INSTALLED)
    found = Journal(path)
    assert (found.installed, found.last["doing"]) == (True, "it called home")
    assert len(found.lines()) == 1 + broken.count(b"}"), "what was whole before is, too"


def test_lines_have_nothing_between_them(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "metal/worker-1.jsonl")
    for state in ("expected", "installed"):
        journal.add({"state": state})
    assert (tmp_path / "metal/worker-1.jsonl").read_text() == '{"state": "expected"}\n{"state": "installed"}\n'


def test_a_line_that_the_disk_did_not_take_is_added_by_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    journal = Journal(tmp_path / "worker-1.jsonl")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            journal.note(INSTALLED)
    assert journal.last == {}
    assert journal.note(INSTALLED)
    assert journal.installed
