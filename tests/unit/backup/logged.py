"""A server with binary logs that look like a real one's, and who follows them by the program of the container."""

from __future__ import annotations

import itertools
import struct
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs import ship
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf, Stream
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import mariadb
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Executed
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import Store, open_store

HISTORY = "11111111-0000-0000-0000-000000000000"


def event(text: str, when: int = 0) -> bytes:
    body = text.encode()
    return struct.pack("<IBIIIH", when, 2, 1, 19 + len(body), 0, 0) + body


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

    def commit(self, text: str, when: int = 0) -> None:
        with (self.home / self.log).open("ab") as stream:
            stream.write(event(text, when))

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
        return {
            "taken": taken,
            "source": self.name,
            **mariadb._anchor(self, said, ended=datetime.now(UTC) - timedelta(seconds=1)),
        }


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
def logs(tmp_path: Path) -> LogShelf:
    return LogShelf(tmp_path / "sets")


@pytest.fixture
def follow(logs: LogShelf, store: Store, server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what follows the server for some looks; with steps, until they are done and all they wrote is copied."""
    monkeypatch.setattr(ship, "_PAUSE", 0.01)

    def run(*steps: Callable[[], object], member: str = "mariadb-server-0", looks: int = 1) -> None:
        left, count, tries = list(steps), looks, itertools.count()

        def enough() -> bool:
            nonlocal count
            assert next(tries) < 200, server.said[-1:]
            if left:
                left.pop(0)()
                return False
            count -= 1
            return copied() if steps else count < 0

        def copied() -> bool:
            stream = logs.newest()
            last = stream.pieces()[-1] if stream and stream.pieces() else None
            size = (server.home / server.log).stat().st_size
            return last is not None and (last.log, last.end) == (server.log, size)

        ship.Shipper(
            logs, site="lab", store=store, every=0.01, choose=lambda _: (member, server), say=server.said.append
        ).ship(until=enough)

    return run


def content(stream: Stream, store: Store) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for piece in stream.checked(stream.pieces()):
        found[piece.log] = found.get(piece.log, b"") + b"".join(stream.content(piece, stream.key(store)))
    return found


def files(server: Server) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in server.home.glob("binlog.0*")}


def pieces(logs: LogShelf) -> list[Path]:
    (stream,) = logs.streams()
    return [stream.place / piece.name for piece in stream.pieces()]


def flip(logs: LogShelf, number: int = 0) -> None:
    data = bytearray(pieces(logs)[number].read_bytes())
    data[-20] ^= 1
    pieces(logs)[number].write_bytes(data)
