"""Members of another series, one at a time: real servers of Debian 12's MariaDB and of the image, writes all the while.

`GROUNDUP_MARIADB_FORMER`: a directory with Debian 12's packages mariadb-{server,server-core,client,client-core,common},
galera-4 and libaio1, as `apt-get download` gets them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Image
from .test_services import CHARTS, _owned

_MEMBERS = r"""
set -u
FORMER=/opt/former/usr
former() {
  LD_LIBRARY_PATH=$FORMER/lib/x86_64-linux-gnu PATH=$FORMER/bin:$FORMER/sbin:$PATH "$@"
}
member() {  # number, place of its programs, further options
  local here=/var/lib/mysql/$1
  mkdir -p $here/tmp
  printf '%s\n' '[mysqld]' datadir=$here/data tmpdir=$here/tmp pid_file=$here/pid socket=$here/socket \
    bind_address=127.0.0.$1 skip_name_resolve binlog_format=ROW innodb_autoinc_lock_mode=2 \
    innodb_buffer_pool_size=32M loose_innodb_snapshot_isolation=OFF wsrep_on=ON wsrep_cluster_name=test \
    wsrep_provider=$2/lib/galera/libgalera_smm.so wsrep_node_name=m$1 wsrep_node_address=127.0.0.$1 \
    wsrep_cluster_address=gcomm://127.0.0.1:4567,127.0.0.2:4567,127.0.0.3:4567 \
    wsrep_provider_options="gmcast.listen_addr=tcp://127.0.0.$1:4567" > $here/my.cnf
  [ $2 = /usr ] || printf '%s\n' lc_messages_dir=$2/share/mysql character_sets_dir=$2/share/mysql/charsets \
    plugin_dir=$2/lib/mysql/plugin >> $here/my.cnf
}
old() { member $1 $FORMER; former mariadbd --defaults-file=/var/lib/mysql/$1/my.cnf "${@:2}" >> $1/log 2>&1 & }
new() { member $1 /usr; mariadbd --defaults-file=/var/lib/mysql/$1/my.cnf >> $1/log 2>&1 & }
ask() { mariadb --no-defaults --skip-ssl --socket=/var/lib/mysql/$1/socket -uroot -pword -BNe "$2"; }
is() { [ "$(ask $1 "SHOW STATUS LIKE 'wsrep_$2'" | cut -f2)" = "$3" ]; }
wait_for() {
  for _ in $(seq 300); do "$@" 2>/dev/null && return; sleep 0.2; done
  echo "waited for: $*"; tail -n 20 /var/lib/mysql/?/log; exit 1
}
ends() {
  mariadb-admin --no-defaults --skip-ssl --socket=/var/lib/mysql/$1/socket -uroot -pword shutdown
  while kill -0 ${pids[$1]} 2>/dev/null; do sleep 0.1; done
}
all() { for one in 1 2 3; do echo "$(ask $one "$1")"; done | paste -sd' '; }
# Of the chart: the probe is the member's whose socket is the container's.
ready() { bash /mnt/health.sh readiness; }

cd /var/lib/mysql
former mariadb-install-db --no-defaults --basedir=$FORMER --datadir=/var/lib/mysql/1/data --skip-test-db \
  --auth-root-authentication-method=normal --lc-messages-dir=$FORMER/share/mysql >/dev/null 2>&1
echo "ALTER USER root@localhost IDENTIFIED BY 'word';" > /tmp/accounts.sql
declare -A pids
old 1 --wsrep-new-cluster --init-file=/tmp/accounts.sql; pids[1]=$!
wait_for is 1 local_state_comment Synced
ask 1 "CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY)"
ends 1
for one in 2 3; do mkdir $one; cp -a 1/data $one/data; rm -f $one/data/{gvwstate.dat,galera.cache}; done
old 1 --wsrep-new-cluster; pids[1]=$!
wait_for is 1 local_state_comment Synced
for one in 2 3; do old $one; pids[$one]=$!; wait_for is $one local_state_comment Synced; done
( while :; do for one in 1 2 3; do ask $one "INSERT INTO d.t VALUES ()" 2>/dev/null && echo x >> /tmp/written; done
  sleep 0.1; done ) & writer=$!
echo "begins: $(all 'SELECT VERSION()')"
for one in 3 2 1; do
  ends $one
  echo "not begun" > /tmp/upgrading
  new $one; pids[$one]=$!
  ln -sfn /var/lib/mysql/$one/socket /var/run/mysqld/mysqld.sock
  wait_for is $one local_state_comment Synced
  before=$(ready) && exit 1
  bash /mnt/health.sh upgrade > /tmp/said.$one
  ready || exit 1
  echo "before $one: $before"
  echo "info $one: $(cat $one/data/*_upgrade_info)"
  echo "after $one: $(all "SELECT REGEXP_SUBSTR(VERSION(), '^[0-9]+[.][0-9]+')")"
done
bash /mnt/health.sh upgrade; echo "again: $?"
kill $writer; wait $writer 2>/dev/null
sleep 1
echo "sizes: $(all "SHOW STATUS LIKE 'wsrep_cluster_size'" | tr '\t' ' ')"
echo "written: $(wc -l < /tmp/written)"
echo "rows: $(all 'SELECT COUNT(*) FROM d.t')"
"""


def _former(place: Path) -> Path:
    packages = os.environ.get("GROUNDUP_MARIADB_FORMER")
    if not packages:
        pytest.skip("set GROUNDUP_MARIADB_FORMER to a directory with packages of the former series")
    for package in Path(packages).glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, place], check=True)
    return place


def test_members_of_the_former_series_become_the_images_one_at_a_time_while_all_are_written_to(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    """Each is not ready before `mariadb-upgrade` has ended on it; what was answered is in every member at the end."""
    tmp_path.chmod(0o755)
    former, place = _former(tmp_path / "former"), tmp_path / "files"
    former.chmod(0o755)
    place.mkdir()
    shutil.copy(CHARTS / "mariadb/files/health.sh", place)
    etc = _owned(tmp_path / "etc", 999)
    (etc / "admin_user.cnf").write_text("[client]\nuser = root\npassword = word\nhost = localhost\nport = 3306\n")
    mounts = {"/var/lib/mysql": _owned(tmp_path / "data", 999), "/run/mysqld": _owned(tmp_path / "run", 999),
              "/opt/former": former, "/mnt": place, "/etc/mysql": etc}  # fmt: skip
    said = image("mariadb").run("bash", "-c", _MEMBERS, uid=999, mounts=mounts).stdout
    found = dict(re.findall(r"^([a-z0-9 ]+): (.*)$", said, re.M))
    print(said)  # figures of docs/charts.md
    assert found["begins"].count("10.11.") == 3, said
    for member, versions in (("3", "10.11 10.11 11.8"), ("2", "10.11 11.8 11.8"), ("1", "11.8 11.8 11.8")):
        assert found[f"before {member}"] == "mariadb-upgrade: not begun", said
        assert found[f"info {member}"].startswith("11.8."), said
        assert found[f"after {member}"] == versions, said
    assert found["again"] == "0", said
    assert found["sizes"].split()[1::2] == ["3"] * 3, said
    rows, written = {*map(int, found["rows"].split())}, int(found["written"])
    assert len(rows) == 1, said
    assert rows.pop() >= written > 30, said
