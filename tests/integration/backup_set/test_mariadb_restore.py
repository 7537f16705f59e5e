"""A real member's copy is put into the volume of another database: it serves, what was there is kept, killed or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.mariadb import SCRIPT, place
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import mariadb
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.mariadb import identified
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image

from .containers import Namespaces, container
from .test_mariadb import _MY, _owned, member

__all__ = ["member"]  # fixture
NAME = "20261128T150000Z"
KEPT = f".before-restore-{NAME}.sst"
_SERVE = """
set -eu
setsid mariadbd --datadir=/scratch --log-bin=/scratch/binlog --skip-log-error </dev/null >/scratch/log 2>&1 &
for _ in $(seq 600); do
  mariadb-admin --defaults-file=/etc/mysql/admin_user.cnf --socket=/run/mysqld/mysqld.sock ping >&/dev/null && exit 0
  sleep 0.1
done
tail -n 20 /scratch/log >&2; exit 1
"""


@pytest.fixture
def volume(image: Callable[[str], Image], tmp_path: Path) -> Iterator[tuple[Namespaces, Path]]:
    """Yield a container with a member's volume, that holds another database."""
    data, etc = _owned(tmp_path / "data"), _owned(tmp_path / "etc")
    (data / "lost+found").mkdir()  # root's: it stays
    (data / "mysql").mkdir()
    (data / "mysql/old").write_text("old")
    for name in ("ibdata1", "grastate.dat", ".my-own", "a b"):
        (data / name).write_text("old")
    for path in (data / "mysql", *data.rglob("*")):
        if path.name != "lost+found":
            os.chown(path, 999, 999)
    (etc / "my.cnf").write_text(_MY.replace("datadir = /var/lib/mysql", "datadir = /scratch"))
    (etc / "admin_user.cnf").write_text('[client]\nuser = root\npassword = "word"\nhost = localhost\nport = 3306\n')
    mounts = {"/scratch": data, "/run/mysqld": _owned(tmp_path / "run"), "/etc/mysql": etc}
    with container(image("mariadb"), "pod volume", mounts) as found:
        yield found, data


def test_a_volume_gets_the_copy_keeps_what_it_had_and_goes_on_after_a_kill(
    member: Namespaces, volume: tuple[Namespaces, Path]
) -> None:
    target, data = volume
    stream = bytearray()
    about = mariadb.take(member, stream.extend)
    # Root's password was rotated after the copy: pods know the new one alone.
    accounts = f"ALTER USER IF EXISTS {identified('root', ['new'], ('%', 'localhost'))};\n".encode()
    accounts += f"ALTER USER IF EXISTS {identified('left', ['new'])};\n".encode()
    half = bytes(stream[: len(stream) // 2])
    with pytest.raises(GroundupError, match="its stream does not unpack"):
        place(target, NAME, size=len(half), pieces=[half])
    assert (data / "mysql/old").read_text() == "old"  # nothing is moved before the copy is whole
    arguments = ("r", "/scratch", NAME, str(len(stream)), "", str(len(accounts)))
    # Killed while the former data move: after the first, and before the copy's last.
    killed = SCRIPT.replace('  sync; touch "$kept/emptied"', "  exit 9")
    assert target.run(("bash", "-c", killed, *arguments), source=[bytes(stream), accounts]).code == 9
    assert not (data / "mysql").exists()  # the chart's start program sees no database
    killed = SCRIPT.replace("  [ -e mysql ] || mv", "  exit 9; mv")
    assert target.run(("bash", "-c", killed, *arguments), source=[bytes(stream), accounts]).code == 9
    assert not (data / "mysql").exists()
    for _ in range(2):  # once more: nothing is done
        place(target, NAME, size=len(stream), pieces=[bytes(stream)], accounts=accounts)
    kept = data / KEPT / "data"
    assert sorted(one.name for one in kept.iterdir()) == [".my-own", "a b", "grastate.dat", "ibdata1", "mysql"]
    assert (kept / "mysql/old").read_text() == "old"
    assert (data / "lost+found").is_dir()

    pods = data.parent / "etc/admin_user.cnf"
    pods.write_text(pods.read_text().replace('"word"', '"new"'))
    started = target.run(("bash", "-c", _SERVE))
    assert started.code == 0, started.stderr
    found = mariadb.contents(target)
    assert mariadb.judge(about, found) == []
    assert not [table for table in found.rows if "before-restore" in table]  # it is no database of the server
    again = bytearray()
    assert mariadb.take(target, again.extend)["rows"].keys() == about["rows"].keys()  # nor of the next backup


def test_the_volume_of_another_member_is_only_emptied_until_it_has_to_be_the_first(
    member: Namespaces, volume: tuple[Namespaces, Path]
) -> None:
    target, data = volume
    for _ in range(2):
        place(target, NAME, size=0, pieces=[])
    assert sorted(one.name for one in data.iterdir()) == [KEPT, "lost+found"]
    assert (data / KEPT / "data/ibdata1").read_text() == "old"
    stream = bytearray()
    mariadb.take(member, stream.extend)
    place(target, NAME, size=len(stream), pieces=[bytes(stream)])  # the host of the first one died
    assert (data / "mysql").is_dir()
    assert (data / KEPT / "data/mysql/old").read_text() == "old"


def test_a_state_transfer_keeps_what_was_set_aside(image: Callable[[str], Image]) -> None:
    """Its default pattern of what stays when it empties the directory."""
    script = (image("mariadb").root / "usr/bin/wsrep_sst_mariabackup").read_text()
    pattern = next(line for line in script.splitlines() if line.strip().startswith("cpat='"))
    assert r".*\.sst$" in pattern
    assert KEPT.endswith(".sst")
