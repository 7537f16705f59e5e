"""Binary logs that are followed and copied: what one member commits, sealed, without a gap."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs import disk, job, ship
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf, Piece
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import BackupJob, site_shelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import SecretsError, Store, open_store

from .logged import Server, content, event, files, flip, follow, logs, server, store

__all__ = ["follow", "logs", "server", "store"]  # fixtures


def test_what_is_committed_is_copied_sealed_also_after_a_restart_and_a_new_log(
    server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    follow(lambda: server.commit("first"), lambda: server.commit("second"), lambda: server.rotate("binlog.000002"))
    server.commit("while nobody follows")
    follow(lambda: server.commit("again"))
    (stream,) = logs.streams()
    assert content(stream, store) == files(server)
    assert stream.about.member == "mariadb-server-0"
    assert not [one for one in stream.place.iterdir() if b"first" in one.read_bytes()]
    assert stream.last()["number"] == stream.pieces()[-1].last
    merged = [piece for piece in stream.pieces() if piece.log == "binlog.000001"]
    assert (len(merged), merged[0].start, merged[0].last > merged[0].first) == (1, 0, True)  # a closed log is one piece


def test_half_an_event_waits_for_its_end(
    server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    whole = (server.home / server.log).read_bytes()
    last = event("an event that is cut")
    (server.home / server.log).write_bytes(whole + last[:25])
    follow()
    (stream,) = logs.streams()
    assert content(stream, store) == {server.log: whole}
    (server.home / server.log).write_bytes(whole + last)
    follow()
    assert content(stream, store) == {server.log: whole + last}


def changed(server: Server) -> None:
    path = server.home / server.log
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def purged(server: Server) -> None:
    server.rotate("binlog.000007")
    (server.home / "binlog.index").write_text("./binlog.000007\n")
    (server.home / "binlog.000001").unlink()


def shortened(server: Server) -> None:
    path = server.home / server.log
    path.write_bytes(path.read_bytes().removesuffix(event("one")))


@pytest.mark.parametrize("happens", [changed, purged, shortened])
def test_other_logs_begin_a_new_stream_that_says_so(
    happens: Callable[[Server], None], server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    server.commit("one")
    follow()
    happens(server)
    server.rotate("binlog.000008")
    follow(looks=5)
    first, second = logs.streams()
    assert second.about.why == "mariadb-server-0 has not the log binlog.000001 any more as it was copied"
    assert content(second, store) == files(server)
    assert "a new stream begins" in server.said[-1]
    assert first.about.why == ""


def test_copies_that_are_damaged_end_their_stream_and_what_comes_is_copied_on(
    server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    follow()
    flip(logs)
    server.commit("on")
    follow(looks=3)
    assert "what was copied is damaged: the binary logs are damaged (logs-damaged): piece 1" in server.said[-1]
    assert content(logs.streams()[1], store) == files(server)


def test_an_older_piece_that_cannot_be_read_is_not_merged_and_stops_no_copy(
    server: Server, logs: LogShelf, follow: Callable[..., None]
) -> None:
    follow(lambda: server.commit("first"), lambda: server.commit("second"))
    flip(logs)
    server.rotate("binlog.000002")
    follow(lambda: server.commit("on"))
    (stream,) = logs.streams()
    assert stream.pieces()[-1].log == "binlog.000002"
    (told,) = server.said
    assert told.startswith("binary logs: pieces of binlog.000001 stay as they are: the binary logs are damaged")
    assert len([piece for piece in stream.pieces() if piece.log == "binlog.000001"]) > 1
    server.commit("once more")
    follow(looks=3)
    assert len(server.said) == 1


def test_another_member_is_followed_only_once_the_first_was_away_for_long(
    server: Server, logs: LogShelf, follow: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    follow()
    follow(member="mariadb-server-1", looks=3)
    assert server.said[-1].startswith("binary logs: mariadb-server-0 does not answer")
    assert len(logs.streams()) == 1
    monkeypatch.setattr(ship, "PATIENCE", 0.0)
    follow(member="mariadb-server-1")
    assert [one.about.member for one in logs.streams()] == ["mariadb-server-0", "mariadb-server-1"]


def test_what_a_killed_merge_left_is_no_fault_and_is_removed(logs: LogShelf, store: Store) -> None:
    stream = logs.begin(site="lab", store=store, member="m", history="h", why="")
    names = []
    for first, last, start, end in ((1, 1, 0, 4), (2, 2, 4, 9), (1, 2, 0, 9)):
        piece = Piece(first=first, last=last, log="binlog.000001", start=start, end=end, time="20261128T190000Z")
        stream.add(piece, [b"123456789"[start:end]], stream.key(store))
        names.append(piece.name)
    (stream.place / ".partial9").write_bytes(b"half")
    assert content(stream, store) == {"binlog.000001": b"123456789"}
    stream.tidy()
    assert sorted(one.name for one in stream.place.iterdir()) == [names[2], "stream.json"]
    assert content(stream, store) == {"binlog.000001": b"123456789"}


def test_a_stream_is_on_disk_before_it_has_its_name(
    logs: LogShelf, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(disk, "sync", lambda one: synced.append((one.name, sorted(p.name for p in one.iterdir()))))
    stream = logs.begin(site="lab", store=store, member="m", history="h", why="")
    assert synced == [(f".partial-{stream.name}", ["stream.json"]), ("logs", [stream.name])]


def test_each_piece_has_a_key_of_its_own(logs: LogShelf, store: Store) -> None:
    """A nonce begins with 7 random bytes: too few for all pieces of a stream under one key."""
    stream, sealed = logs.begin(site="lab", store=store, member="m", history="h", why=""), list[bytes]()
    for number in (1, 2):
        piece = Piece(first=number, last=number, log="l", start=0, end=4, time="20261128T190000Z")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("secrets.token_bytes", bytes)  # the same nonce
            stream.add(piece, [b"same"], stream.key(store))
        sealed.append((stream.place / piece.name).read_bytes())
        assert b"".join(stream.content(piece, stream.key(store))) == b"same"
    assert sealed[0][:-16] != sealed[1][:-16]  # but for the tag, which the name is part of


@pytest.mark.parametrize("held", ["state", "directory"])
def test_two_runs_never_copy_into_one_directory(
    held: str, plan: Plan, logs: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "_WAIT", 0.0)
    lock = state_dir(plan.site) / ".logs.lock" if held == "state" else logs.home / ".lock"
    copied = replace(plan, backups=BackupPlan(logs_every=5))
    with locked(lock), pytest.raises(GroundupError, match="are copied already") as caught:
        job.ship(copied, logs.home.parent, seconds=1, say=print)
    assert caught.value.where == str(lock)
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    assert logs.streams() == []


def words() -> Iterator[bytes]:
    for data in (b"now\nda", b"ta l 4 5\nab", b"c\nd", b"data l 9 1\nxnow\n"):
        yield from (data[place : place + 1] for place in range(len(data)))


def test_what_the_program_says_may_come_in_any_pieces() -> None:
    got, told = bytearray(), list[str]()
    frames = ship.Frames(lambda _log, _start, data: got.extend(data), lambda said: told.append(said[0]))
    for data in words():
        frames.feed(data)
    assert (bytes(got), told) == (b"abc\ndx", ["now", "now"])


def test_a_copy_of_a_time_that_has_not_come_is_late(plan: Plan, logs: LogShelf, store: Store) -> None:
    """With the clock set right, the unit's end would be told by nobody for as long as it was ahead."""
    now, plan = datetime(2026, 1, 1, tzinfo=UTC), replace(plan, backups=BackupPlan(logs_every=5))
    stream = logs.begin(site=plan.site, store=store, member="mariadb-server-0", history="h", why="")
    for ahead, wrong in ((timedelta(0), ""), (timedelta(minutes=1), ""), (timedelta(days=30), "has not come")):
        stream.seen(1, now + ahead)
        assert wrong in (said := job.late(plan, logs.home.parent, now=now)[0])
        assert bool(said) == bool(wrong)


def rotated(store: Store) -> None:
    store.source.path.chmod(0o600)
    Store.open(store.path.parent, replace(store.source, ours=True)).reseal()


def rekeyed(store: Store) -> None:
    """As by `ansible-vault rekey`: nothing keeps the old password."""
    rotated(store)
    for former in store.source.formers():
        former.unlink()


@pytest.mark.parametrize("change", [rotated, rekeyed])
@pytest.mark.parametrize("before", [(), (lambda: None,)])  # else while logs are followed
def test_with_a_new_password_a_new_stream_begins_that_the_old_one_does_not_open(
    change: Callable[[Store], None], before: tuple[Callable[[], object], ...], *,
    server: Server, logs: LogShelf, store: Store, follow: Callable[..., None],
) -> None:  # fmt: skip
    """By the variable, as the unit has it. Before, the copy ended, and what was copied did not open."""
    old = store.source.read()
    follow()
    follow(*before, lambda: change(store), lambda: server.commit("with the new password"))
    first, second = logs.streams()
    assert second.about.why == "the password of the secrets store changed: take a new set"
    assert content(second, store) == files(server)
    with pytest.raises(SecretsError):
        store.unseal(second.about.key.encode(), where="", passwords=[old])
    if change is rotated:
        assert content(first, open_store("lab", write=False))


def test_a_password_that_cannot_be_read_begins_no_stream(
    server: Server, logs: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    follow()
    store.source.path.rename(store.source.path.with_name("away"))
    follow(looks=3)
    assert (len(logs.streams()), server.said[-1][:12]) == (1, "binary logs:")


def test_verification_fails_where_logs_follow_no_set_for_an_hour(
    plan: Plan, logs: LogShelf, made: Callable[..., SetBackup], follow: Callable[..., None]
) -> None:
    made()
    follow()
    copying, home = replace(plan, backups=BackupPlan(logs_every=5)), site_shelf(plan).home / "logs"
    verify = BackupJob(copying, {"directory": "", "days": 2.0}, Changes(check=False)).verify
    with pytest.raises(GroundupError, match=r"no binary log was copied yet \(logs-too-old\)"):
        verify()
    shutil.copytree(logs.home, home)
    about = LogShelf(home.parent).streams()[0].place / "stream.json"
    for hours in (0.9, 1.1):
        began = {"began": (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds")}
        about.write_text(json.dumps(json.loads(about.read_text()) | began))
        if hours < 1:
            assert "logs-gap" in verify()["warnings"][-1]
    with pytest.raises(GroundupError, match="logs-gap"):
        verify()
    about.with_name("last.json").unlink()
    with pytest.raises(GroundupError, match=r"no binary log was copied yet \(logs-too-old\)"):
        verify()
