"""Files in one step, units that take up what a killed run left behind."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import files
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import apt, naming, packages, units
from ansible_collections.groundup.cloud.plugins.module_utils._host.units import Unit


class Systemd:
    """Stands for systemctl: one unit with its state, and what was asked of it."""

    def __init__(self, **state: str) -> None:
        self.state = {"ActiveState": "active", "UnitFileState": "enabled", "LoadState": "loaded", **state}
        self.calls: list[str] = []
        self.broken = False

    def run(self, argv: list[str], **_: object) -> str:
        if argv[1] == "show":
            return "".join(f"{key}={value}\n" for key, value in self.state.items())
        self.calls.append(argv[1])
        if self.broken:
            raise GroundupError("killed", where="here", why="the test says so", remedy="none")
        return ""


@pytest.fixture
def systemd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Systemd:
    fake = Systemd()
    monkeypatch.setattr(units, "run", fake.run)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    return fake


def test_a_file_is_written_once_with_its_mode_and_shown_as_a_diff(changes: Changes, tmp_path: Path) -> None:
    path = tmp_path / "etc" / "file"
    assert files.place(changes, path, "one\n", mode=0o600)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("one\n", 0o600)
    assert changes.diffs == [{"before_header": str(path), "after_header": str(path), "before": "", "after": "one\n"}]
    assert not files.place(changes, path, "one\n", mode=0o600)
    assert len(changes.done) == 1
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_wrong_mode_alone_is_a_change(changes: Changes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.place(changes, path, "one\n", mode=0o600)
    path.chmod(0o644)
    assert not files.place(changes, path, "one\n", mode=0o600), "its content is the same: nobody has to read it again"
    assert changes.done[1:] == [f"set mode 600 and owner of {path}"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_directory_has_its_mode_and_keeps_its_owner(changes: Changes, tmp_path: Path) -> None:
    path = tmp_path / "above/place"
    files.directory(Changes(check=True), path, mode=0o710)
    assert not path.parent.exists()
    files.directory(changes, path, mode=0o710)
    assert path.stat().st_mode & 0o7777 == 0o710
    (again := Changes(check=False)).done.clear()
    files.directory(again, path, mode=0o710)
    assert again.done == []
    files.directory(again, path, mode=0o700, owner=path.stat().st_uid, group=path.stat().st_gid)
    assert (len(again.done), path.stat().st_mode & 0o7777) == (1, 0o700)


def test_check_mode_says_what_would_be_and_writes_nothing(tmp_path: Path) -> None:
    changes = Changes(check=True)
    path = tmp_path / "file"
    assert files.place(changes, path, "one\n")
    assert changes.result()["changed"]
    assert not path.exists()


def test_a_file_its_program_refuses_never_replaces_the_old_one(changes: Changes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("good\n")

    def refuse(candidate: Path) -> None:
        assert candidate.read_text() == "bad\n"
        raise GroundupError("no good", where="line 1", why="bad", remedy="write good")

    with pytest.raises(GroundupError, match="no good"):
        files.place(changes, path, "bad\n", valid=refuse)
    assert path.read_text() == "good\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_the_content_of_a_secret_file_is_in_no_diff(changes: Changes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.place(changes, path, "password: old-value\n", secret=True)
    files.place(changes, path, "password: new-value\n", secret=True)
    assert "value" not in str(changes.result())


def test_our_block_is_replaced_and_what_others_wrote_stays() -> None:
    text = naming.with_block("mine\n\ntheirs\n\n\n", ["a", "b"])
    assert text == "mine\n\ntheirs\n# BEGIN groundup.cloud\na\nb\n# END groundup.cloud\n"
    assert naming.with_block(text + "after\n", ["c"]).splitlines() == [
        "mine",
        "",
        "theirs",
        "after",
        "# BEGIN groundup.cloud",
        "c",
        "# END groundup.cloud",
    ]
    assert naming.with_block(text, ["a", "b"]) == text


def test_a_running_unit_is_reloaded_when_its_file_changed_and_only_then(
    changes: Changes, systemd: Systemd, tmp_path: Path
) -> None:
    for content, expected in (("one\n", ["reload"]), ("one\n", ["reload"]), ("two\n", ["reload", "reload"])):
        unit = Unit(changes, "x.service", on_change="reload")
        unit.place(tmp_path / "file", content)
        unit.running()
        assert systemd.calls == expected


def test_a_run_killed_before_the_reload_is_made_good_by_the_next(
    changes: Changes, systemd: Systemd, tmp_path: Path
) -> None:
    systemd.broken = True
    unit = Unit(changes, "x.service", on_change="reload")
    unit.place(tmp_path / "file", "new\n")
    with pytest.raises(GroundupError):
        unit.running()
    systemd.broken, systemd.calls = False, []
    again = Changes(check=False)
    unit = Unit(again, "x.service", on_change="reload")
    unit.place(tmp_path / "file", "new\n")
    unit.running()
    assert (systemd.calls, again.done) == (["reload"], ["reload x.service"])
    Unit(again, "x.service", on_change="reload").running()
    assert systemd.calls == ["reload"]


def test_a_run_killed_after_a_file_was_removed_is_made_good_by_the_next(
    changes: Changes, systemd: Systemd, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("old\n")
    systemd.broken = True
    unit = Unit(changes, "x.service")
    unit.generate(tmp_path / "file", "")
    with pytest.raises(GroundupError):
        unit.refreshed()
    systemd.broken, systemd.calls = False, []
    for expected in (["restart"], ["restart"]):
        unit = Unit(changes, "x.service")
        unit.generate(tmp_path / "file", "")
        unit.refreshed()
        assert systemd.calls == expected


def test_a_link_to_nowhere_is_removed(changes: Changes, tmp_path: Path) -> None:
    files.link(changes, tmp_path / "link", str(tmp_path / "nowhere"))
    assert files.remove(changes, tmp_path / "link")
    assert list(tmp_path.iterdir()) == []
    assert not files.remove(changes, tmp_path / "link")


def test_a_stopped_unit_is_enabled_and_started(changes: Changes, systemd: Systemd) -> None:
    systemd.state |= {"ActiveState": "inactive", "UnitFileState": "disabled"}
    Unit(changes, "x.service").running()
    assert systemd.calls == ["enable", "start"]


def test_a_unit_that_ends_again_and_again_does_not_run(changes: Changes, systemd: Systemd) -> None:
    systemd.state |= {"ActiveState": "activating", "SubState": "auto-restart"}

    def silent() -> None:
        raise GroundupError("it does not answer", where="here", why="the test says so", remedy="none")

    Unit(changes, "x.service", healthy=silent).refreshed(enable=True)
    assert systemd.calls == [], "who may not start it leaves it to systemd"
    with pytest.raises(GroundupError, match="does not answer"):
        Unit(changes, "x.service", healthy=silent).running()
    assert changes.done == ["start x.service"]


def test_a_unit_that_does_not_run_is_not_started_for_a_changed_file(
    changes: Changes, systemd: Systemd, tmp_path: Path
) -> None:
    systemd.state |= {"ActiveState": "inactive"}
    unit = Unit(changes, "x.service")
    unit.place(tmp_path / "file", "new\n")
    unit.refreshed()
    assert systemd.calls == []


def test_check_mode_leaves_units_and_marks_alone(systemd: Systemd, tmp_path: Path) -> None:
    changes = Changes(check=True)
    unit = Unit(changes, "x.service", on_change="reload")
    unit.place(tmp_path / "file", "new\n")
    unit.running()
    assert systemd.calls == []
    assert changes.done == [f"write {tmp_path / 'file'}", "reload x.service"]
    assert not (tmp_path / "marks").exists()


def test_a_unit_that_is_not_installed_yet_is_predicted_to_be_enabled_and_started(systemd: Systemd) -> None:
    systemd.state |= {"ActiveState": "inactive", "UnitFileState": "", "LoadState": "not-found"}
    changes = Changes(check=True)
    Unit(changes, "x.service").running()
    assert changes.done == ["enable x.service", "start x.service"]
    assert systemd.calls == []


def test_a_unit_whose_own_file_changed_is_loaded_again_before_it_is_started(changes: Changes, systemd: Systemd) -> None:
    systemd.state |= {"ActiveState": "inactive", "NeedDaemonReload": "yes"}
    Unit(changes, "x.service").running()
    assert systemd.calls == ["daemon-reload", "start"]


def test_packages_are_asked_for_at_once_and_only_missing_ones_are_installed(
    changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "a installed\nb config-files\n"
    asked: list[list[str]] = []

    def attempt(argv: list[str], **_: object) -> CompletedProcess[str]:
        asked.append(argv)
        return CompletedProcess(argv, 0, said, "")

    for module in (apt, packages):
        monkeypatch.setattr(module, "attempt", attempt)
    assert not packages.installed(changes, [])
    assert asked == [], "without names dpkg-query would list every package there is"
    assert packages.installed(changes, ["c", "a", "b"])
    assert changes.done == ["install packages: b, c"]
    assert [argv[-2:] for argv in asked[2:]] == [["b", "c"]]
    assert len(asked) == 3, "asked, updated, installed"
