"""Bytes go to the guest and come back through ssh's own streams."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import guest as module
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest, make_key, said_by


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guest:
    """Have a shell of this machine play the guest."""
    program = tmp_path / "bin/ssh"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(module, "_FILE", str(tmp_path / "in-the-guest"))
    return Guest(address="203.0.113.7", user="guest", directory=tmp_path)


def test_there_and_back(guest: Guest, tmp_path: Path) -> None:
    payload = tmp_path / "payload"
    payload.write_bytes(os.urandom(300_000))
    wanted = hashlib.sha256(payload.read_bytes()).hexdigest()
    assert guest.store(payload, timeout=120) == (wanted, "")
    assert guest.fetch(timeout=120) == (wanted, "")
    assert not (tmp_path / "in-the-guest").exists()


def test_a_fault_is_its_last_words(guest: Guest) -> None:
    assert guest.ask("echo one >&2; echo two >&2; exit 3").fault == "two"
    assert guest.ask("exit 3").fault == "exit code 3"


def test_what_hangs_is_ended() -> None:
    assert (
        said_by([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2).fault == "nothing more after 0.2 s"
    )


def test_the_key_is_this_runs_alone(guest: Guest, tmp_path: Path) -> None:
    assert make_key(tmp_path, "smoke-1").startswith("ssh-ed25519 ")
    words = guest.command("true")
    assert words[words.index("-i") + 1] == str(tmp_path / "id_ed25519")
    assert f"UserKnownHostsFile={tmp_path}/known_hosts" in words
    assert words[-2:] == ["guest@203.0.113.7", "true"]
