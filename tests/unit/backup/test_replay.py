"""Binary logs that follow a set: found from its position on, or refused by name."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs import job, replay
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import timer
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import BackupJob, site_shelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.backup_sets import set_rows
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.rows import StatusRow
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import Store, open_store

from .logged import HISTORY, Server, files, flip, follow, logs, pieces, server, store

__all__ = ["follow", "logs", "server", "store"]  # fixtures


@pytest.fixture
def saved(server: Server, follow: Callable[..., None]) -> dict[str, Any]:
    """A set, and logs that follow it: the rest of one and another."""
    server.commit("before the set")
    part = server.set_of()
    server.commit("after the set")
    follow(lambda: server.rotate("binlog.000002"), lambda: server.commit("last"))
    return part


def find(
    logs: LogShelf, part: dict[str, Any], store: Store, until: str = "", *, expected: bool = True
) -> replay.Replay | None:
    return replay.find(logs, part, until=until, store=store, expected=expected)


def test_logs_that_follow_a_set_are_found_from_its_position_on(
    saved: dict[str, Any], server: Server, logs: LogShelf, store: Store
) -> None:
    found = find(logs, saved, store)
    assert found
    one, two = (len(server.home.joinpath(f"binlog.00000{number}").read_bytes()) for number in (1, 2))
    assert [(file.name, file.start, file.size) for file in found.files] == [
        ("binlog.000001", saved["log"]["position"], one), ("binlog.000002", 4, two),
    ]  # fmt: skip
    assert b"".join(found.content(store)) == b"".join(
        files(server)[name] for name in ("binlog.000001", "binlog.000002")
    )
    assert find(logs, saved, store, until="set") is None
    now = found.reaches.isoformat()
    assert (limited := find(logs, saved, store, until=now))
    assert limited.stop == f"{found.reaches:%Y-%m-%d %H:%M:%S}"
    with pytest.raises(GroundupError, match="after the last log"):
        find(logs, saved, store, until=(found.reaches + timedelta(minutes=1)).isoformat())
    with pytest.raises(GroundupError, match="before the set"):
        find(logs, saved, store, until="2020-01-01T00:00:00Z")
    with pytest.raises(GroundupError, match="tomorrow is no time"):
        find(logs, saved, store, until="tomorrow")


def test_a_time_within_the_copy_is_refused(saved: dict[str, Any], logs: LogShelf, store: Store) -> None:
    taken, ended = (datetime.fromisoformat(one) for one in (saved["taken"], saved["log"]["at"]))
    assert ended >= taken
    part = {**saved, "taken": (ended - timedelta(minutes=5)).isoformat()}
    with pytest.raises(replay.GapError, match="is before the set: they go from "):
        find(logs, part, store, until=(ended - timedelta(minutes=1)).isoformat())
    assert find(logs, part, store, until=ended.isoformat())
    del part["log"]["at"]  # as sets were written before
    assert find(logs, part, store, until=(ended - timedelta(minutes=1)).isoformat())


def test_a_set_without_logs_is_restored_alone_only_where_nothing_is_lost(
    saved: dict[str, Any], logs: LogShelf, store: Store, tmp_path: Path
) -> None:
    none, before = LogShelf(tmp_path / "empty"), {**saved, "log": None}
    with pytest.raises(replay.GapError, match=r"the set is of the database .*, the logs are of none"):
        find(none, saved, store)
    assert find(none, saved, store, expected=False) is None
    assert find(none, before, store) is None
    with pytest.raises(replay.GapError, match="the set does not say where logs go on"):
        find(logs, before, store)
    assert find(logs, before, store, expected=False) is None  # backups.logs_every was taken out again
    assert find(logs, saved, store, expected=False)
    with pytest.raises(replay.GapError, match="the set does not say where logs go on"):
        find(logs, before, store, until=datetime.now(UTC).isoformat(), expected=False)


def cut(logs: LogShelf) -> None:
    pieces(logs)[0].write_bytes(pieces(logs)[0].read_bytes()[:-1])


def exchange(logs: LogShelf) -> None:
    shutil.copy(pieces(logs)[1], pieces(logs)[0])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (flip, r"piece 1 \(binlog.000001, bytes 0 to \d+\): piece 0 does not open"),
        (cut, r"piece 1 \(binlog.000001, bytes 0 to \d+\): it ends, or is damaged"),
        (exchange, r"piece 1 \(binlog.000001, bytes 0 to \d+\): piece 0 does not open"),
        (lambda logs: pieces(logs)[-1].unlink(), r"piece \d+ is missing: the last one is \d+"),
        (lambda logs: pieces(logs)[1].unlink(), r"piece \d+ is missing, after binlog.000001|the last one is"),
    ],
)
def test_a_piece_that_is_missing_or_changed_is_named(
    damage: Callable[[LogShelf], object], said: str, saved: dict[str, Any], logs: LogShelf, store: Store
) -> None:
    damage(logs)
    with pytest.raises(GroundupError, match=f"logs-damaged.: {said}"):
        find(logs, saved, store)


@pytest.mark.parametrize("damage", [flip, lambda logs, number: pieces(logs)[number].unlink()])
def test_a_piece_after_the_wanted_time_is_not_looked_at(
    damage: Callable[[LogShelf, int], object], server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    part, now = server.set_of(), int(datetime.now(UTC).timestamp())
    server.commit("before", now + 1)
    follow()
    server.commit("also before, copied late", now + 2)
    follow()
    server.commit("a mistake", now + 3)
    server.commit("of a statement that began before", now + 2)
    follow()
    server.commit("after", now + 4)
    follow()
    (stream,) = logs.streams()
    stream.seen(4, datetime.now(UTC) + timedelta(minutes=1))
    damage(logs, 3)
    with pytest.raises(GroundupError, match="logs-damaged"):
        find(logs, part, store)
    wanted = datetime.fromtimestamp(now + 3, UTC).isoformat()
    assert (found := find(logs, part, store, until=wanted))
    assert [piece.last for piece in found.pieces] == [1, 2, 3]
    assert found.files[-1].size == found.pieces[-1].end
    damage(logs, 1)
    with pytest.raises(GroundupError, match="logs-damaged"):
        find(logs, part, store, until=wanted)


def test_a_newer_stream_serves_where_an_older_one_is_damaged(
    saved: dict[str, Any], server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    flip(logs, -1)
    follow(looks=3)  # which sees it, and copies all of the member's logs again
    old, new = logs.streams()
    assert (found := find(logs, saved, store))
    assert found.stream.name == new.name
    assert b"".join(found.content(store)) == b"".join(files(server)[name] for name in sorted(files(server)))
    for piece in new.pieces()[1:]:
        (new.place / piece.name).unlink()
    with pytest.raises(GroundupError, match=r"logs-damaged.: piece \d is missing") as caught:
        find(logs, saved, store)
    assert (caught.value.where, old.name < new.name) == (str(new.place), True)


def test_logs_of_another_database_or_that_do_not_reach_the_set_are_refused(
    saved: dict[str, Any], server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    anchor = saved["log"]
    for other, said in (
        ({**anchor, "history": "2222"}, f"the set is of the database 2222, the logs are of {HISTORY}"),
        ({**anchor, "sha256": "00"}, "no log follows the set: it ends in binlog.000001 of mariadb-server-0, at byte"),
        ({**anchor, "file": "binlog.000000"}, "no log follows the set: it ends in binlog.000000"),
        ({**anchor, "file": "binlog.000002", "position": 9999}, "was copied to byte .*, the set ends at byte 9999"),
        ({}, "the set does not say where logs go on"),
    ):
        with pytest.raises(replay.GapError, match=said):
            find(logs, {**saved, "log": other}, store)
    with pytest.raises(replay.GapError, match=r"no log follows the set: it ends in binlog\.000001 of mariadb-server-2"):
        find(logs, {**saved, "source": "pod mariadb-server-2, container mariadb"}, store)
    server.history = "3333"  # made anew, or restored: its logs are nothing that the set lacks
    follow()
    assert find(logs, saved, store)
    server.history = HISTORY
    (server.home / "binlog.index").write_text("./binlog.000002\n")
    follow(looks=3)
    with pytest.raises(replay.GapError, match="do not follow them: mariadb-server-0 is of another cluster") as caught:
        find(logs, saved, store)
    until = caught.value.remedy.rpartition("=")[2]
    assert find(logs, saved, store, until=until)


def test_a_restore_that_goes_on_replays_what_was_there_when_it_began(
    saved: dict[str, Any], server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    """It was killed, and a member came up meanwhile: with nothing, or with what the restore had put there."""
    journal.ends_database("lab", journal.begin("lab", None, source="set", sha256="", parts=["mariadb"], until=""))
    restore = journal.under_way("lab")
    assert restore
    assert restore.at
    assert (before := find(logs, saved, store))
    time.sleep(max(0.0, restore.at.timestamp() + 1.0 - time.time()))  # times have whole seconds
    for file in server.home.glob("binlog.*"):
        file.unlink()
    server.rotate("binlog.000001")
    server.commit("of the other one")
    follow(looks=3)
    assert len(logs.streams()) == 2
    with pytest.raises(replay.GapError, match="do not follow them"):
        find(logs, saved, store)
    found = replay.find(logs, saved, until="", store=store, expected=True, begun=restore.at)
    assert found
    assert (found.files, found.stream.name) == (before.files, before.stream.name)


@pytest.mark.usefixtures("saved")
def test_logs_go_with_the_sets_they_follow_but_for_the_last(logs: LogShelf) -> None:
    assert logs.prune(datetime.now(UTC) - timedelta(minutes=5)) == []
    assert logs.prune(datetime.now(UTC) + timedelta(minutes=5)) == ["binlog.000001 of mariadb-server-0"]
    assert {piece.log for piece in logs.streams()[0].pieces()} == {"binlog.000002"}
    old = logs.streams()[0]
    logs.begin(site="lab", store=open_store("lab", write=False), member="m", history="h", why="w")
    assert logs.prune(datetime.now(UTC) + timedelta(minutes=5)) == ["binlog.000002 of mariadb-server-0"]
    assert not old.place.exists()


def test_the_log_that_a_kept_set_ends_in_stays_though_nothing_was_written_for_long(
    server: Server, logs: LogShelf, follow: Callable[..., None]
) -> None:
    follow()
    part, later = server.set_of(), datetime.now(UTC) + timedelta(minutes=5)
    follow(lambda: server.rotate("binlog.000002"), lambda: server.commit("since"))
    assert logs.prune(later, [replay.end(part)]) == []
    other = replay.end({**part, "source": "pod mariadb-server-1, container mariadb"})
    assert logs.prune(later, [other]) == ["binlog.000001 of mariadb-server-0"]


@pytest.mark.usefixtures("saved")
def test_the_age_of_the_copy_is_told(plan: Plan, logs: LogShelf) -> None:
    home = logs.home.parent
    wrong, age = job.late(plan, home)
    assert (wrong, age is not None and age < 60) == ("", True)
    assert (
        job.late(plan, home, now=datetime.now(UTC) + timedelta(minutes=5))[0] == "the copy of the binary logs is late"
    )
    assert job.late(plan, home / "none") == ("no binary log was copied yet", None)


@pytest.mark.usefixtures("saved")
def test_status_and_verification_say_the_age_and_whether_logs_follow_the_newest_set(
    plan: Plan, logs: LogShelf, made: Callable[..., SetBackup], monkeypatch: pytest.MonkeyPatch
) -> None:
    copying = replace(plan, backups=BackupPlan(logs_every=5))
    sets = site_shelf(plan)
    backup = made()
    monkeypatch.setattr(timer, "_BOOTED", Path("/nowhere"))

    def row() -> StatusRow:
        (found,) = [one for one in set_rows(copying, days=2) if one.name == "binary logs"]
        return found

    assert (row().state, row().what) == ("broken", "no binary log was copied yet")
    shutil.copytree(logs.home, sets.home / "logs")
    assert row().state == "warning"
    assert "logs-gap): the set does not say where logs go on" in row().what
    given = {"directory": "", "days": 2.0}
    (told,) = [one for one in BackupJob(copying, given, Changes(check=False)).verify()["warnings"] if "MariaDB" in one]
    assert told.startswith(f"a restore of MariaDB ends at the set {backup.name}: no binary logs can be replayed")
    (stream,) = LogShelf(sets.home).streams()
    stream.seen(stream.last()["number"], datetime.now(UTC) - timedelta(minutes=5))
    assert row().state == "broken"
    assert re.fullmatch(r"the copy of the binary logs is late, copied to 05:\d\d min ago", row().what)
    with pytest.raises(GroundupError, match=r"late \(logs-too-old\): all to 30\d s ago is there"):
        BackupJob(copying, given, Changes(check=False)).verify()
    with pytest.raises(GroundupError, match="the site file asks for no binary logs"):
        job.ship(plan, sets.home, seconds=0, say=print)
