"""sshd at first contact: it reads the site's keys, and every login that worked before still works."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import access, units

PLAIN = "authorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2\npermitrootlogin {root}\n"
OURS = f"authorizedkeysfile .ssh/authorized_keys {access.KEYS}/%u\npermitrootlogin {{root}}\n"


@pytest.fixture
def drop_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(access, "SSHD", tmp_path / "drop-in")
    monkeypatch.setattr(units, "properties", lambda *_: {"ActiveState": "active"})
    monkeypatch.setattr(units, "control", lambda *_: None)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    return tmp_path / "drop-in"


def sshd_says(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """Have `sshd -T` print ``answers``, one a call, the last again and again."""
    left = list(answers)

    def run(argv: Sequence[str], **_: object) -> str:
        if argv[-1] != "-T":
            return ""
        return left.pop(0) if len(left) > 1 else left[0]

    monkeypatch.setattr(access, "run", run)


@pytest.mark.parametrize(
    ("user", "root", "line"),
    [("ops", "no", None), ("root", "without-password", None), ("root", "no", "PermitRootLogin prohibit-password")],
)
def test_nothing_that_let_the_operator_in_is_closed(
    drop_in: Path, monkeypatch: pytest.MonkeyPatch, user: str, root: str, line: str | None
) -> None:
    sshd_says(monkeypatch, PLAIN.format(root=root), OURS.format(root="x"))
    access.opened(Changes(check=False), user)
    lines = drop_in.read_text().splitlines()[1:]
    before = ".ssh/authorized_keys .ssh/authorized_keys2"
    assert lines == [f"AuthorizedKeysFile {access.KEYS}/%u {before}", *([line] if line else [])]


def test_keys_that_sshd_reads_from_elsewhere_still_count(drop_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sshd_says(monkeypatch, "authorizedkeysfile /etc/ssh/staff/%u\n", OURS.format(root="no"))
    access.opened(Changes(check=False), "ops")
    assert f"AuthorizedKeysFile {access.KEYS}/%u /etc/ssh/staff/%u\n" in drop_in.read_text()
    sshd_says(monkeypatch, "authorizedkeysfile none\n", OURS.format(root="no"))
    access.opened(Changes(check=False), "ops")
    assert f"AuthorizedKeysFile {access.KEYS}/%u\n" in drop_in.read_text()


def test_a_host_of_the_site_keeps_its_strict_sshd(drop_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sshd_says(monkeypatch, OURS.format(root="no"))
    changes = Changes(check=False)
    access.opened(changes, "ops")
    assert changes.done == []
    assert not drop_in.exists()


def test_a_run_killed_before_sshd_read_the_file_is_made_good(drop_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sshd_says(monkeypatch, OURS.format(root="no"))
    mark = drop_in.parent / "marks/ssh.service.changed"
    mark.parent.mkdir()
    mark.touch()
    changes = Changes(check=False)
    access.opened(changes, "ops")
    assert changes.done == ["reload ssh.service"]
    assert not mark.exists()


@pytest.mark.usefixtures("drop_in")
def test_an_sshd_that_does_not_read_our_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sshd_says(monkeypatch, PLAIN.format(root="no"))
    with pytest.raises(GroundupError, match="Include"):
        access.opened(Changes(check=False), "ops")
