"""The runner placed on a seed: once, whole, with a key and a password that it makes itself."""

from __future__ import annotations

import base64
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import files
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import accounts, environment, units
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, runner
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.package import INSIDE, packed

PASSWORD_LINE = "runner:hash\n"


class Unit:
    """systemd's part."""

    started = 0
    marked = False  # on disk

    def __init__(self, changes: Changes, _name: str) -> None:
        self.changes, self.stale = changes, Unit.marked

    def replaced(self) -> None:
        self.stale = True

    def mark(self) -> None:
        Unit.marked = True

    def place(self, path: Path, text: str) -> None:
        self.stale |= files.place(self.changes, path, text)

    def running(self) -> None:
        Unit.started += self.stale
        Unit.marked = False


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A seed below a directory, whose accounts, units and environment are there."""
    if not shutil.which("ssh-keygen"):
        pytest.skip("ssh-keygen is not installed")
    for name in ("PROGRAMS", "COLLECTIONS", "COLLECTION", "CONFIGURATION", "SITE_FILE", "PUBLIC", "PASSWORD", "KEY"):
        monkeypatch.setattr(runner, name, tmp_path / str(getattr(runner, name)).lstrip("/"))
    monkeypatch.setattr(runner, "UNIT", tmp_path / "groundup-runner.service")
    monkeypatch.setattr(configuration, "RUNNER_PASSWORDS", tmp_path / "htpasswd")
    monkeypatch.setattr(accounts, "ensure", lambda *_, **__: os.getgid())
    monkeypatch.setattr(accounts, "group_id", lambda _name: os.getgid())
    monkeypatch.setattr(units, "Unit", Unit)
    monkeypatch.setattr(environment, "place", lambda *_, **__: ("2-abc", Unit.started > 0))
    monkeypatch.setattr(environment, "switch", lambda *_, **__: None)
    monkeypatch.setattr(runner, "line_of", lambda *_: PASSWORD_LINE)
    Unit.started, Unit.marked = 0, False
    python = runner.PROGRAMS / "current/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    return tmp_path


def wanted(root: Path, **changed: Any) -> dict[str, Any]:
    for name in ("plugins/a.py", "roles/r.yml", "playbooks/p.yml", "meta/m.yml", "ansible.cfg", "supply.lock"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("a = 1\n")
    digest, content = packed(root)
    return {
        "release": "2", "environment_url": "https://e", "contact_url": "https://c", "public": {"ca.crt": "CA"},
        "site_text": "site", "site_files": {}, "collection": digest,
        "content": base64.b64encode(content).decode(), **changed,
    }  # fmt: skip


def test_a_seed_gets_its_runner_once_and_keeps_key_and_password(seed: Path) -> None:
    options = wanted(seed / "collection")
    assert runner.lacks(options["collection"])
    key = runner.converge(Changes(check=False), options)
    assert key.startswith("ssh-ed25519 ")
    assert (runner.PUBLIC / "ssh/runner.pub").read_text() == f"{key}\n", "else its own runs shut it out"
    assert not runner.lacks(options["collection"])
    assert (runner.COLLECTION / INSIDE / "plugins/a.py").read_text() == "a = 1\n"
    assert list((runner.COLLECTION / INSIDE / "plugins/__pycache__").iterdir()), "compiled: the service cannot"
    for path in (runner.KEY, runner.PASSWORD):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Changes(check=False)
    assert runner.converge(again, options | {"content": None}) == key
    assert (again.done, Unit.started) == ([], 1)


def test_another_collection_replaces_the_former_and_another_site_file_restarts_nothing(seed: Path) -> None:
    first = wanted(seed / "collection")
    runner.converge(Changes(check=False), first)
    runner.converge(Changes(check=False), first | {"site_text": "another"})
    assert (runner.SITE_FILE.read_text(), Unit.started) == ("another", 1)
    second = first | {"collection": "f" * 64}
    runner.converge(Changes(check=False), second)
    assert (sorted(path.name for path in runner.COLLECTIONS.iterdir()), Unit.started) == (["f" * 12], 2)


def test_a_run_that_was_killed_before_it_restarted_the_runner_has_the_next_one_do_so(
    seed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = wanted(seed / "collection")
    runner.converge(Changes(check=False), first)

    def killed(_unit: Unit) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Unit, "running", killed)
        with pytest.raises(KeyboardInterrupt):
            runner.converge(Changes(check=False), first | {"collection": "f" * 64})
    runner.converge(Changes(check=False), first | {"collection": "f" * 64, "content": None})
    assert Unit.started == 2, "else it runs on by the collection that is removed below it"


def test_a_dry_run_on_a_new_seed_changes_nothing(seed: Path) -> None:
    options = wanted(seed / "collection", content=None)
    before, changes = sorted(seed.rglob("*")), Changes(check=True)
    assert runner.converge(changes, options) == ""
    assert changes.done
    assert sorted(seed.rglob("*")) == before


def test_a_site_that_has_no_runner_any_more_has_neither_key_nor_password_there(
    seed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(units, "off", lambda _changes, names: ended.extend(names))
    runner.absent(Changes(check=False))
    assert ended == []
    runner.converge(Changes(check=False), wanted(seed / "collection"))
    runner.absent(Changes(check=False))
    assert ended == ["groundup-runner.service"]
    assert not runner.CONFIGURATION.exists()
    assert not configuration.RUNNER_PASSWORDS.exists()


def test_a_removal_that_was_killed_is_ended_by_the_next_run_and_shows_no_hash(seed: Path) -> None:
    runner.converge(Changes(check=False), wanted(seed / "collection"))
    runner.UNIT.unlink()  # no further
    changes = Changes(check=False)
    runner.absent(changes)
    assert not runner.CONFIGURATION.exists(), "the key opens machines"
    assert not configuration.RUNNER_PASSWORDS.exists()
    assert "hash" not in str(changes.diffs)


def test_a_key_that_cannot_be_removed_is_no_success(seed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = os.unlink

    def refused(path: Any, **more: Any) -> None:
        if Path(path).name == runner.KEY.name:
            raise PermissionError(1, "not permitted", str(path))
        unlink(path, **more)

    monkeypatch.setattr(units, "off", lambda *_: None)
    runner.converge(Changes(check=False), wanted(seed / "collection"))
    monkeypatch.setattr(os, "unlink", refused)
    with pytest.raises(PermissionError):
        runner.absent(Changes(check=False))


def test_the_unit_is_nobody_else_s_account_and_reads_key_and_password_as_credentials() -> None:
    text = runner.unit_text("https://10.0.0.8:6386")
    assert "User=groundup-runner\n" in text
    assert "LoadCredential=key:/etc/groundup-runner/id_ed25519\n" in text
    assert "--password %d/password --key %d/key" in text
    for word in ("ProtectSystem=strict", "NoNewPrivileges=true", "CapabilityBoundingSet=", "KillMode=control-group"):
        assert f"{word}\n" in text
    assert "vault" not in text.lower()
