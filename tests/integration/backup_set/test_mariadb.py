"""A real member of Galera is copied while it is written to, and restored into a scratch server that is counted."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import mariadb
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.read_test import NotRunError, restored
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image

from .containers import Namespaces, container

# As the chart writes it; one member.
_MY = """
[client-server]
socket = /var/run/mysqld/mysqld.sock
[mysqld]
datadir = /var/lib/mysql
tmpdir = /tmp
skip_networking = 1
innodb_buffer_pool_size = 64M
innodb_flush_log_at_trx_commit = 0
binlog_format = ROW
log_bin = binlog
log_slave_updates = ON
default_storage_engine = InnoDB
innodb_autoinc_lock_mode = 2
wsrep_on = ON
wsrep_provider = /usr/lib/galera/libgalera_smm.so
wsrep_cluster_address = gcomm://
wsrep_sst_method = mariabackup
"""
_START = """
set -eu
mariadb-install-db --no-defaults --datadir=/var/lib/mysql --skip-test-db \\
  --auth-root-authentication-method=normal >/dev/null
setsid mariadbd --skip-log-error </dev/null >/var/lib/mysql/log 2>&1 &
ask() { mariadb --socket=/run/mysqld/mysqld.sock -uroot "$@"; }
for _ in $(seq 600); do ask -e 'SELECT 1' >/dev/null 2>&1 && break; sleep 0.1; done
ask <<end || { tail -n 20 /var/lib/mysql/log >&2; exit 1; }
USE mysql; CREATE DATABASE keystone; CREATE DATABASE nova; CREATE DATABASE \\`o'dd\\`;
CREATE TABLE keystone.alembic_version (version_num VARCHAR(32) NOT NULL);
INSERT INTO keystone.alembic_version VALUES ('47147121');
CREATE TABLE nova.alembic_version (version_num VARCHAR(32) NOT NULL) CHARACTER SET utf8mb3;
INSERT INTO nova.alembic_version VALUES ('b'), ('a');
CREATE TABLE nova.shadow_alembic_version (version_num VARCHAR(32) NOT NULL);
CREATE TABLE nova.instances (id INT PRIMARY KEY AUTO_INCREMENT, word TEXT);
INSERT INTO nova.instances (word) SELECT REPEAT('x', 200) FROM seq_1_to_20000;
CREATE TABLE \\`o'dd\\`.\\`ta'ble\\` (id INT); CREATE VIEW nova.seen AS SELECT 1;
ALTER USER root@localhost IDENTIFIED BY 'word';
end
"""


@pytest.fixture(scope="module")
def member(image: Callable[[str], Image], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespaces]:
    place = tmp_path_factory.mktemp("member")
    etc = _owned(place / "etc")
    (etc / "my.cnf").write_text(_MY)
    (etc / "admin_user.cnf").write_text('[client]\nuser = root\npassword = "word"\nhost = localhost\nport = 3306\n')
    mounts = {"/var/lib/mysql": _owned(place / "data"), "/run/mysqld": _owned(place / "run"), "/etc/mysql": etc}
    with container(image("mariadb"), "pod mariadb-server-0", mounts) as found:
        done = found.run(["bash", "-c", _START])
        assert done.code == 0, done.stderr
        yield found


@pytest.fixture
def scratch(image: Callable[[str], Image], tmp_path: Path) -> Iterator[Namespaces]:
    with container(image("mariadb"), "pod scratch", {"/scratch": _owned(tmp_path / "scratch")}) as found:
        yield found


def _owned(place: Path) -> Path:
    place.mkdir()
    os.chown(place, 999, 999)
    return place


def _sql(member: Namespaces, sql: str) -> None:
    argv = ["mariadb", "--defaults-file=/etc/mysql/admin_user.cnf", "--socket=/run/mysqld/mysqld.sock"]
    assert member.run([*argv, f"--execute={sql}"]).code == 0


def _insert(member: Namespaces) -> None:
    _sql(member, "INSERT INTO nova.instances (word) VALUES ('y'); " * 20)


def test_a_copy_taken_under_writes_restores_to_what_was_counted(member: Namespaces, scratch: Namespaces) -> None:
    stream, writer = bytearray(), threading.Thread(target=_insert, args=(member,))
    writer.start()
    about = mariadb.take(member, stream.extend)
    writer.join()
    assert about["heads"] == {"keystone": "47147121", "nova": "a,b"}
    assert about["version"].startswith("11.8")
    assert about["rows"]["o'dd.ta'ble"] == [0, 0]
    found = restored(scratch, [bytes(stream)], size=len(stream), home="/scratch")
    assert mariadb.judge(about, found) == []
    assert found.rows["nova.instances"] >= 20000
    assert set(found.rows) == set(about["rows"])

    lost = replace(found, rows={**found.rows, "nova.instances": 0}, heads={**found.heads, "keystone": "older"})
    assert mariadb.judge(about, lost) == [
        "keystone: its schema is at older, it was at 47147121",
        f"rows of nova.instances: 0, there were {about['rows']['nova.instances'][0]}",
    ]

    damaged = bytes(stream[: len(stream) // 2])
    with pytest.raises(GroundupError, match="MariaDB's part does not restore: "):
        restored(scratch, [damaged], size=len(damaged), home="/scratch")


def test_a_row_that_comes_and_goes_may_be_missing_and_one_that_stays_may_not(member: Namespaces) -> None:
    kept, brief = "nova.flavors", "neutron.reservations"
    _sql(member, f"CREATE DATABASE neutron; CREATE TABLE {kept} AS SELECT 1; CREATE TABLE {brief} AS SELECT 1")
    time.sleep(2)  # the server tells whole seconds
    stream = bytearray()

    def write(data: bytes) -> None:
        if not stream:
            _sql(member, "DELETE FROM neutron.reservations; INSERT INTO neutron.reservations VALUES (2)")
        stream.extend(data)

    about = mariadb.take(member, write)
    assert about["rows"][brief] == about["rows"][kept] == [1, 1]
    whole = mariadb.contents(member)
    assert mariadb.judge(about, replace(whole, rows={**whole.rows, brief: 0, kept: 0})) == [
        f"rows of {kept}: 0, there were 1"
    ]


def test_no_room_is_no_verdict(image: Callable[[str], Image], member: Namespaces, tmp_path: Path) -> None:
    stream = bytearray()
    mariadb.take(member, stream.extend)
    small = _owned(tmp_path / "small")
    mounted = f"mount -t tmpfs -o size=5m,uid=999 tmpfs {small}"
    with container(image("mariadb"), "pod scratch", {"/scratch": small}) as scratch:
        inside = ["nsenter", f"--target={scratch.pid}", "--mount", "--root", "--wdns=/"]
        subprocess.run([*inside, *mounted.replace(str(small), "/scratch").split()], check=True)
        with pytest.raises(NotRunError, match="pod scratch has no room for"):
            restored(scratch, [bytes(stream)], size=len(stream), home="/scratch")


def test_a_wrong_password_is_told_with_the_pod(member: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mariadb, "_ACCOUNT", "/nowhere")
    with pytest.raises(GroundupError, match="its tables cannot be counted: ") as caught:
        mariadb.take(member, len)
    assert "pod mariadb-server-0" in str(caught.value)
