"""What a real member commits after its copy is copied sealed, and comes back after it, all of it or up to a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs import replay, ship
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import mariadb as restore
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.mariadb import place
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import mariadb
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store
from ansible_collections.groundup.cloud.tests.unit.charts import galera

from .containers import Namespaces
from .test_mariadb import member
from .test_mariadb_restore import _SERVE, volume

__all__ = ["member", "volume"]  # fixtures
NAME = "20261128T150000Z"
POD = "mariadb-server-0"


def ask(member: Namespaces, sql: str) -> str:
    done = member.run(["mariadb", "--defaults-file=/etc/mysql/admin_user.cnf", "--socket=/run/mysqld/mysqld.sock",
                       "--batch", "--skip-column-names", f"--execute={sql}"])  # fmt: skip
    assert done.code == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text("of-the-store\n")
    return Store.open(tmp_path, PasswordSource(path=password, ours=True))


def follow(shelf: LogShelf, store: Store, member: Namespaces) -> None:
    """Copy all that the member has committed."""
    looks = iter(range(3))
    ship.Shipper(
        shelf, site="lab", store=store, every=0.1, say=print, choose=lambda _: (POD, member)
    ).ship(until=lambda: next(looks, None) is None)  # fmt: skip


def second() -> datetime:
    """Return the next second, once it has begun."""
    now = datetime.now(UTC)
    then = now.replace(microsecond=0) + timedelta(seconds=1)
    time.sleep((then - now).total_seconds())
    return then


@pytest.fixture
def lost(member: Namespaces, store: Store, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A set, logs that follow it in two files, and a mistake at their end."""
    shelf, stream = LogShelf(tmp_path / "sets"), bytearray()
    ask(member, "CREATE DATABASE later; CREATE TABLE later.t (id INT PRIMARY KEY, word TEXT)")
    follow(shelf, store, member)
    taken = datetime.now(UTC).isoformat(timespec="seconds")
    about = mariadb.take(member, stream.extend)
    ask(
        member, "INSERT INTO later.t VALUES (1, 'SECRET'); FLUSH BINARY LOGS; INSERT INTO later.t VALUES (2, 'new log')"
    )
    ask(member, "CREATE USER late@localhost IDENTIFIED BY 'word'; GRANT SELECT ON later.* TO late@localhost")
    follow(shelf, store, member)
    ask(member, "INSERT INTO later.t VALUES (3, 'before the mistake')")
    at = second()
    ask(member, "DELETE FROM later.t WHERE id < 3; DROP TABLE nova.instances")
    second()
    follow(shelf, store, member)
    yield {
        "shelf": shelf, "stream": bytes(stream), "at": at,
        "part": {**about, "taken": taken, "source": f"pod {POD}, container mariadb"},
    }  # fmt: skip
    ask(member, "DROP DATABASE later; DROP USER late@localhost; CREATE TABLE IF NOT EXISTS nova.instances (id INT "
                "PRIMARY KEY AUTO_INCREMENT, word TEXT)")  # fmt: skip


@pytest.mark.parametrize("to_a_time", [False, True], ids=["all", "up to a time"])
def test_rows_of_after_the_copy_come_back(
    lost: dict[str, Any], store: Store, volume: tuple[Namespaces, Path], *, to_a_time: bool
) -> None:
    until = lost["at"].isoformat() if to_a_time else ""
    found = replay.find(lost["shelf"], lost["part"], until=until, store=store, expected=True)
    assert found
    assert len(found.files) > 1
    target, _ = volume
    whole = [lost["stream"], *found.content(store)]
    with pytest.raises(
        GroundupError, match=r"MariaDB is not restored: its binary logs cannot be replayed, .*: .*is not whole"
    ):
        place(target, NAME, size=len(lost["stream"]), pieces=[*whole[:-1], b"\0" * 9], replays=found)
    place(
        target, NAME, size=len(lost["stream"]), pieces=whole, replays=found
    )  # it begins anew, and is not applied twice
    started = target.run(("bash", "-c", _SERVE))
    assert started.code == 0, started.stderr
    contents = mariadb.contents(target)
    rows = ask(target, "SELECT id FROM later.t").split()
    assert (rows, "nova.instances" in contents.rows) == ((["1", "2", "3"], True) if to_a_time else (["3"], False))
    assert "GRANT SELECT ON `later`" in ask(target, "SHOW GRANTS FOR late@localhost")
    sealed = [one for one in lost["shelf"].home.rglob("*") if one.is_file() and b"SECRET" in one.read_bytes()]
    assert sealed == []


def test_neither_a_log_that_cannot_be_read_nor_a_server_that_dies_makes_a_restore(
    lost: dict[str, Any], store: Store, volume: tuple[Namespaces, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = replay.find(lost["shelf"], lost["part"], until="", store=store, expected=True)
    assert found
    (target, data), content = volume, b"".join(found.content(store))
    first, last, size = found.files[0], found.files[-1], len(lost["stream"])
    for log, end in ((first, first.size), (last, len(content))):
        begin = end - (log.size - log.start) // 2
        damaged = content[:begin] + bytes(end - begin) + content[end:]
        with pytest.raises(GroundupError, match=rf"binary logs cannot be replayed, .*: .*{log.name} cannot be read"):
            place(target, NAME, size=size, pieces=[lost["stream"], damaged], replays=found)
    monkeypatch.setattr(restore, "SCRIPT", restore.SCRIPT.replace("kill $server ", "kill -9 $server "))
    with pytest.raises(GroundupError, match="its binary logs cannot be replayed"):
        place(target, NAME, size=size, pieces=[lost["stream"], content], replays=found)
    assert not (data / f".before-restore-{NAME}.sst/prepared").exists()
    assert (data / "mysql/old").read_text() == "old"


_ACCOUNTS = """
set -eu
cd /scratch
mariadb-install-db --no-defaults --datadir=/scratch/new --skip-test-db --skip-log-bin \\
  --auth-root-authentication-method=normal >/dev/null
for file in accounts narrowing; do
  mariadbd --no-defaults --datadir=/scratch/new --log-bin=binlog --skip-networking --socket=/tmp/new.sock \\
    --init-file=/scratch/$file.sql >&2
done
cat new/binlog.0* | grep -c WORD || true
ls new/binlog.000002
"""


def test_passwords_of_members_are_in_no_binary_log(volume: tuple[Namespaces, Path]) -> None:
    target, data = volume
    env = {
        f"MYSQL_DB{who}_{what}": f"{who}-{what}"
        for who in ("ADMIN", "SST", "AUDIT")
        for what in ("USERNAME", "PASSWORD")
    }
    (data / "accounts.sql").write_text(galera.data.accounts_sql(env))
    (data / "narrowing.sql").write_text(galera.data.narrowing_sql(env) + "SHUTDOWN;\n")
    done = target.run(("bash", "-c", _ACCOUNTS))
    assert (done.code, done.stdout.split()) == (0, ["0", "new/binlog.000002"]), done.stderr
