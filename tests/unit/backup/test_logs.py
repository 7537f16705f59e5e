"""Binary logs that are followed by the very program of the container, in files that look like a server's."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs import job, replay, ship
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf, Piece, Stream
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import mariadb
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Executed
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import Store, open_store

HISTORY = "11111111-0000-0000-0000-000000000000"


def event(text: str) -> bytes:
    body = text.encode()
    return struct.pack("<IBIIIH", 0, 2, 1, 19 + len(body), 0, 0) + body


@dataclass
class Server:
    """A container whose client answers as a member's, with binary logs in a directory."""

    home: Path
    name: str = "pod mariadb-server-0, container mariadb"
    history: str = HISTORY
    log: str = ""
    said: list[str] = field(default_factory=list)

    def rotate(self, log: str) -> None:
        self.log = log
        with (self.home / "binlog.index").open("a") as index:
            index.write(f"./{log}\n")
        (self.home / log).write_bytes(b"\xfebin" + event(f"the server began {log}"))

    def commit(self, text: str) -> None:
        with (self.home / self.log).open("ab") as stream:
            stream.write(event(text))

    def run(
        self, argv: Sequence[str], *, source: Iterable[bytes] = (), sink: Callable[[bytes], object] | None = None
    ) -> Executed:
        assert not source
        if argv[0] == "mariadb":
            answer = self.history if "UUID" in argv[-1] else f"{self.home}/binlog"
            return Executed(code=0, stdout=f"{answer}\n", stderr="")
        with subprocess.Popen([*argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stderr
            out = bytearray()
            try:
                while data := process.stdout.read1(1 << 16):  # type: ignore[attr-defined]
                    (sink or out.extend)(data)
                said = process.stderr.read().decode()
            finally:
                process.kill()
        return Executed(code=process.returncode, stdout=out.decode(), stderr=said)

    def set_of(self) -> dict[str, Any]:
        """What set.json says of a copy that is made now."""
        size = (self.home / self.log).stat().st_size
        said = f"[00] MySQL binlog position: filename '{self.log}', position '{size}', GTID"
        taken = datetime.now(UTC).isoformat(timespec="seconds")
        return {"taken": taken, "source": self.name, **mariadb._anchor(self, said)}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    home = tmp_path / "server"
    home.mkdir()
    found = Server(home)
    found.rotate("binlog.000001")
    return found


@pytest.fixture
def store(plan: Plan) -> Store:
    return open_store(plan.site, write=False)


@pytest.fixture
def shelf(tmp_path: Path) -> LogShelf:
    return LogShelf(tmp_path / "sets")


@pytest.fixture
def follow(shelf: LogShelf, store: Store, server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what follows the server until each of the given steps was done and looked at."""
    monkeypatch.setattr(ship, "_PAUSE", 0.01)

    def run(*steps: Callable[[], object], member: str = "mariadb-server-0", looks: int = 1) -> None:
        left, count = list(steps), looks

        def enough() -> bool:
            nonlocal count
            if left:
                left.pop(0)()
                return False
            count -= 1
            return count < 0

        ship.Shipper(
            shelf, site="lab", store=store, every=0.01, choose=lambda _: (member, server), say=server.said.append
        ).ship(until=enough)

    return run


def content(stream: Stream, store: Store) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for piece in stream.checked(stream.pieces()):
        found[piece.log] = found.get(piece.log, b"") + b"".join(stream.content(piece, stream.key(store)))
    return found


def files(server: Server) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in server.home.glob("binlog.0*")}


def test_what_is_committed_is_copied_sealed_also_after_a_restart_and_a_new_log(
    server: Server, shelf: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    follow(lambda: server.commit("first"), lambda: server.commit("second"), lambda: server.rotate("binlog.000002"))
    server.commit("while nobody follows")
    follow(lambda: server.commit("again"))
    (stream,) = shelf.streams()
    assert content(stream, store) == files(server)
    assert stream.about.member == "mariadb-server-0"
    assert not [one for one in stream.place.iterdir() if b"first" in one.read_bytes()]
    assert stream.last()["number"] == stream.pieces()[-1].last
    merged = [piece for piece in stream.pieces() if piece.log == "binlog.000001"]
    assert (len(merged), merged[0].start, merged[0].last > merged[0].first) == (1, 0, True)  # a closed log is one piece


def test_half_an_event_waits_for_its_end(
    server: Server, shelf: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    whole = (server.home / server.log).read_bytes()
    last = event("an event that is cut")
    (server.home / server.log).write_bytes(whole + last[:25])
    follow()
    (stream,) = shelf.streams()
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
    happens: Callable[[Server], None], server: Server, shelf: LogShelf, store: Store, follow: Callable[..., None]
) -> None:
    server.commit("one")
    follow()
    happens(server)
    server.rotate("binlog.000008")
    follow(looks=5)
    first, second = shelf.streams()
    assert second.about.why == "mariadb-server-0 has not the log binlog.000001 any more as it was copied"
    assert content(second, store) == files(server)
    assert "a new stream begins" in server.said[-1]
    assert first.about.why == ""


def test_another_member_is_followed_only_once_the_first_was_away_for_long(
    server: Server, shelf: LogShelf, follow: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    follow()
    follow(member="mariadb-server-1", looks=3)
    assert server.said[-1].startswith("binary logs: mariadb-server-0 does not answer")
    assert len(shelf.streams()) == 1
    monkeypatch.setattr(ship, "PATIENCE", 0.0)
    follow(member="mariadb-server-1")
    assert [one.about.member for one in shelf.streams()] == ["mariadb-server-0", "mariadb-server-1"]


@pytest.fixture
def saved(server: Server, follow: Callable[..., None]) -> dict[str, Any]:
    """A set, and logs that follow it: the rest of one and another."""
    server.commit("before the set")
    part = server.set_of()
    server.commit("after the set")
    follow(lambda: server.rotate("binlog.000002"), lambda: server.commit("last"))
    return part


def find(shelf: LogShelf, part: dict[str, Any], store: Store, until: str = "") -> replay.Replay | None:
    return replay.find(shelf, part, until=until, store=store)


def test_logs_that_follow_a_set_are_found_from_its_position_on(
    saved: dict[str, Any], server: Server, shelf: LogShelf, store: Store
) -> None:
    found = find(shelf, saved, store)
    assert found
    one, two = (len(server.home.joinpath(f"binlog.00000{number}").read_bytes()) for number in (1, 2))
    assert [(file.name, file.start, file.size) for file in found.files] == [
        ("binlog.000001", saved["log"]["position"], one), ("binlog.000002", 4, two),
    ]  # fmt: skip
    assert b"".join(found.content(store)) == b"".join(
        files(server)[name] for name in ("binlog.000001", "binlog.000002")
    )
    assert find(shelf, saved, store, until="set") is None
    now = found.reaches.isoformat()
    assert (limited := find(shelf, saved, store, until=now))
    assert limited.stop == f"{found.reaches:%Y-%m-%d %H:%M:%S}"
    with pytest.raises(GroundupError, match="after the last log"):
        find(shelf, saved, store, until=(found.reaches + timedelta(minutes=1)).isoformat())
    with pytest.raises(GroundupError, match="before the set"):
        find(shelf, saved, store, until="2020-01-01T00:00:00Z")
    with pytest.raises(GroundupError, match="tomorrow is no time"):
        find(shelf, saved, store, until="tomorrow")


def pieces(shelf: LogShelf) -> list[Path]:
    (stream,) = shelf.streams()
    return [stream.place / piece.name for piece in stream.pieces()]


def flip(shelf: LogShelf) -> None:
    data = bytearray(pieces(shelf)[0].read_bytes())
    data[-20] ^= 1
    pieces(shelf)[0].write_bytes(data)


def cut(shelf: LogShelf) -> None:
    pieces(shelf)[0].write_bytes(pieces(shelf)[0].read_bytes()[:-1])


def exchange(shelf: LogShelf) -> None:
    shutil.copy(pieces(shelf)[1], pieces(shelf)[0])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (flip, r"piece 1 \(binlog.000001, bytes 0 to \d+\): piece 0 does not open"),
        (cut, r"piece 1 \(binlog.000001, bytes 0 to \d+\): it ends, or is damaged"),
        (exchange, r"piece 1 \(binlog.000001, bytes 0 to \d+\): piece 0 does not open"),
        (lambda shelf: pieces(shelf)[-1].unlink(), r"piece \d+ is missing: the last one is \d+"),
        (lambda shelf: pieces(shelf)[1].unlink(), r"piece \d+ is missing, after binlog.000001|the last one is"),
    ],
)
def test_a_piece_that_is_missing_or_changed_is_named(
    damage: Callable[[LogShelf], object], said: str, saved: dict[str, Any], shelf: LogShelf, store: Store
) -> None:
    damage(shelf)
    with pytest.raises(GroundupError, match=f"logs-damaged.: {said}"):
        find(shelf, saved, store)


def test_logs_of_another_database_or_that_do_not_reach_the_set_are_refused(
    saved: dict[str, Any], server: Server, shelf: LogShelf, store: Store, follow: Callable[..., None]
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
            find(shelf, {**saved, "log": other}, store)
    with pytest.raises(replay.GapError, match=r"no log follows the set: it ends in binlog\.000001 of mariadb-server-2"):
        find(shelf, {**saved, "source": "pod mariadb-server-2, container mariadb"}, store)
    server.history = "3333"  # made anew, or restored: its logs are nothing that the set lacks
    follow()
    assert find(shelf, saved, store)
    server.history = HISTORY
    follow(looks=3)
    with pytest.raises(replay.GapError, match="do not follow them: mariadb-server-0 is of another cluster") as caught:
        find(shelf, saved, store)
    until = caught.value.remedy.rpartition("=")[2]
    assert find(shelf, saved, store, until=until)


@pytest.mark.usefixtures("saved")
def test_logs_go_with_the_sets_they_follow_but_for_the_last(shelf: LogShelf) -> None:
    assert shelf.prune(datetime.now(UTC) - timedelta(minutes=5)) == []
    assert shelf.prune(datetime.now(UTC) + timedelta(minutes=5)) == ["binlog.000001 of mariadb-server-0"]
    assert {piece.log for piece in shelf.streams()[0].pieces()} == {"binlog.000002"}
    old = shelf.streams()[0]
    shelf.begin(site="lab", store=open_store("lab", write=False), member="m", history="h", why="w")
    assert shelf.prune(datetime.now(UTC) + timedelta(minutes=5)) == ["binlog.000002 of mariadb-server-0"]
    assert not old.place.exists()


def test_what_a_killed_merge_left_is_no_fault_and_is_removed(shelf: LogShelf, store: Store) -> None:
    stream = shelf.begin(site="lab", store=store, member="m", history="h", why="")
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


@pytest.mark.usefixtures("saved")
def test_the_age_of_the_copy_is_told(plan: Plan, shelf: LogShelf) -> None:
    home = shelf.home.parent
    wrong, age = job.late(plan, home)
    assert (wrong, age is not None and age < 60) == ("", True)
    assert (
        job.late(plan, home, now=datetime.now(UTC) + timedelta(minutes=5))[0] == "the copy of the binary logs is late"
    )
    assert job.late(plan, home / "none") == ("no binary log was copied yet", None)


def words() -> Iterator[bytes]:
    for data in (b"now\nda", b"ta l 4 5\nab", b"c\nd", b"data l 9 1\nxnow\n"):
        yield from (data[place : place + 1] for place in range(len(data)))


def test_what_the_program_says_may_come_in_any_pieces() -> None:
    got, told = bytearray(), list[str]()
    frames = ship.Frames(lambda _log, _start, data: got.extend(data), lambda said: told.append(said[0]))
    for data in words():
        frames.feed(data)
    assert (bytes(got), told) == (b"abc\ndx", ["now", "now"])
