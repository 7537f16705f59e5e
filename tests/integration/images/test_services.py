"""The services of the images really start, as the charts' users, on a read-only root."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

from .conftest import Image

CHARTS = Path(__file__).resolve().parents[3] / "charts"

_MARIADB = """
mariadb-install-db --user=mysql --skip-test-db >/dev/null 2>&1
mariadbd --defaults-extra-file=/run/mysqld/options --skip-networking >/run/mysqld/log 2>&1 &
for _ in $(seq 600); do
  mariadb -N -e 'select version()' 2>/dev/null && break; sleep 0.5
done
mariadb -e 'create database d; create table d.t (id int primary key, n int); insert into d.t values (1, 0)'
# Two transactions that read the same row; the second writes it after the first has.
mkfifo /tmp/first
mariadb --unbuffered d < /tmp/first > /tmp/read 2>&1 &
exec 3> /tmp/first
echo 'start transaction; select n from t;' >&3
for _ in $(seq 600); do [ -s /tmp/read ] && break; sleep 0.5; done
mariadb d -e 'update t set n = 1 where id = 1'
echo 'update t set n = 2 where id = 1; commit;' >&3
exec 3>&-; wait $!; cat /tmp/read
mariadb -N d -e 'select concat("n ", n) from t'
"""
# What start.py does when it forms a cluster, with the server's power cut afterwards; the ConfigMap is a file.
_GALERA = """
cat > /etc/mysql/my.cnf <<end
[client-server]
socket = /run/mysqld/socket
[mysqld]
datadir = /var/lib/mysql
wsrep_on = ON
wsrep_provider = /usr/lib/galera/libgalera_smm.so
binlog_format = ROW
wsrep_sst_method = mariabackup
innodb_buffer_pool_size = 32M
innodb_flush_log_at_trx_commit = 1
!includedir /etc/mysql/member.d/
end
cat > /tmp/member.py <<end
import os, sys
sys.path.insert(0, "/mnt")
import galera_data, start
class ConfigMap:
    def read(self): return {}
    def change(self, read, patch): return print("cluster", patch["data"]["cluster"], flush=True) or True
start.write_member(dict(os.environ), join=())
held = galera_data.position()
print("holds", held, flush=True)
form = start.Form(held if sys.argv[1] == "same" and not held.empty else galera_data.new_history())
print("begins", form.history, flush=True)
sys.stdout.flush()
os.dup2(os.open("/tmp/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
start.become_server(dict(os.environ), form, held, ConfigMap())
end
ask() { mariadb --user=root --password=word --batch --skip-column-names --execute "$1" 2>&1; }
for history in same same new same; do
  echo "== $history"
  python3 /tmp/member.py $history &
  while kill -0 $!; do [ "$(ask "SELECT @@wsrep_on")" = 1 ] && break; sleep 0.5; done  # not the server of accounts.sql
  ask "CREATE DATABASE IF NOT EXISTS d; CREATE TABLE IF NOT EXISTS d.t (id INT AUTO_INCREMENT PRIMARY KEY)"
  ask "INSERT INTO d.t VALUES (NULL); SELECT concat('rows ', count(*)) FROM d.t"
  ask "SHOW STATUS LIKE 'wsrep_cluster_state_uuid'" || cat /tmp/log
  kill -KILL $!; wait $! 2>/dev/null
done
"""
_RABBITMQ = """
rabbitmq-server > /tmp/log 2>&1 &
rabbitmqctl --quiet wait --timeout 600 --pid $! || cat /tmp/log
rabbitmqctl --quiet await_startup --timeout 600
rabbitmqadmin --username=guest --password=guest list nodes -f bash
for _ in $(seq 600); do grep -q 'Time to start RabbitMQ' /tmp/log && break; sleep 0.5; done  # it says so last
grep -c 'Time to start RabbitMQ' /tmp/log
"""

_KEYSTONE = """
cd /tmp
printf '[database]\\nconnection = sqlite:////tmp/db\\n' > /etc/keystone/keystone.conf
manage() { keystone-manage "$@" >log 2>&1 || { cat log; exit 1; }; }
mkdir -m 700 /etc/keystone/fernet-keys
python3 -c 'import sqlite3; sqlite3.connect("/tmp/db").execute("pragma journal_mode = wal")'
manage db_sync; manage fernet_setup
url=http://127.0.0.1:5000/v3
manage bootstrap --bootstrap-password admins-words --bootstrap-region-id one --bootstrap-public-url $url \\
  --bootstrap-internal-url $url --bootstrap-admin-url $url
uwsgi --http-socket 127.0.0.1:5000 --need-app --master --disable-logging --buffer-size 65535 \\
  --add-header "Connection: close" --module keystone.wsgi.api:application >uwsgi.log 2>&1 &
export OS_AUTH_URL=$url OS_USERNAME=admin OS_PASSWORD=admins-words OS_PROJECT_NAME=admin OS_REGION_NAME=one \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_DEFAULT_DOMAIN=default
for file in /mnt/first.json /mnt/first.json /mnt/second.json; do
  echo "== $file"
  python3 /mnt/identity.py $file || { cat uwsgi.log; exit 1; }
done
export OS_USERNAME=glance OS_PROJECT_NAME=service OS_USER_DOMAIN_NAME=service OS_PROJECT_DOMAIN_NAME=service
for word in one-word other-word; do
  OS_PASSWORD=$word openstack token issue -c project_id -f value >/dev/null 2>&1; echo "token with $word: $?"
done
"""


def _owned(path: Path, uid: int) -> Path:
    path.mkdir()
    os.chown(path, uid, uid)
    return path


def _run(
    image: Image, script: str, *, uid: int, mounts: Mapping[str, Path], env: Mapping[str, str] | None = None
) -> str:
    return image.run("bash", "-c", script, uid=uid, mounts=mounts, env=env).stdout


def test_mariadb_makes_its_data_and_answers(image: Callable[[str], Image], tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    mounts = {"/var/lib/mysql": _owned(tmp_path / "data", 999), "/run/mysqld": _owned(tmp_path / "run", 999)}
    plan = site_plan(COLLECTION / "inventories/lab/site.yml")
    options = next(one for one in plan.openstack.releases if one.name == "mariadb").values["conf"]["database"]
    (tmp_path / "run/options").write_text(options["config_override"])
    said = _run(image("mariadb"), _MARIADB, uid=999, mounts=mounts)
    assert said.startswith("11.8")
    assert said.endswith("n 2\n"), said


def test_a_cluster_formed_under_an_id_of_ours_has_it_keeps_it_through_crashes_and_changes_it_by_consent(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    """What the ConfigMap says was formed has to be what the data say after every outage."""
    tmp_path.chmod(0o755)
    for chart in ("mariadb", "groundup-lib"):
        shutil.copytree(CHARTS / chart / "files", tmp_path, dirs_exist_ok=True)
    (tmp_path / "etc").mkdir()
    _owned(tmp_path / "etc/member.d", 999)
    os.chown(tmp_path / "etc", 999, 999)
    mounts = {"/var/lib/mysql": _owned(tmp_path / "data", 999), "/run/mysqld": _owned(tmp_path / "run", 999)}
    env = {"POD_NAME": "mariadb-server-0", "POD_IP": "127.0.0.1", "WSREP_PORT": "4567"}
    env |= {f"MYSQL_DB{who}_{what}": value for who, name in (("ADMIN", "root"), ("SST", "sst"), ("AUDIT", "audit"))
            for what, value in (("USERNAME", name), ("PASSWORD", "word"))}  # fmt: skip
    said = _run(
        image("mariadb"), _GALERA, uid=999, mounts={**mounts, "/mnt": tmp_path, "/etc/mysql": tmp_path / "etc"}, env=env
    )
    made, crashed, chosen, again = (dict(re.findall(r"^(\w+)\s+(\S+)$", part, re.M)) for part in said.split("== ")[1:])
    assert all("begins" in part for part in (made, crashed, chosen, again)), said
    first, second = made["begins"].split(":")[0], chosen["begins"].split(":")[0]
    assert made["holds"] == "00000000-0000-0000-0000-000000000000:-1", said
    assert [each["wsrep_cluster_state_uuid"] for each in (made, crashed, chosen, again)] == [
        first,
        first,
        second,
        second,
    ]
    assert first != second
    assert made["cluster"] == first
    assert "cluster" not in crashed, "only a database that is new is recorded by this step"
    assert [each["rows"] for each in (made, crashed, chosen, again)] == ["1", "2", "3", "4"]
    assert crashed["holds"].startswith(f"{first}:")
    assert again["holds"].startswith(f"{second}:")


def test_rabbitmq_starts_with_the_plugins_of_the_charts_and_logs_to_its_output(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    configuration = _owned(tmp_path / "etc", 999)
    plugins = "[rabbitmq_management,rabbitmq_peer_discovery_k8s,rabbitmq_prometheus]."
    (configuration / "enabled_plugins").write_text(plugins, encoding="utf-8")
    data = _owned(tmp_path / "data", 999)
    (data / ".erlang.cookie").write_text("cookie-of-a-test", encoding="utf-8")
    (data / ".erlang.cookie").chmod(0o600)
    os.chown(data / ".erlang.cookie", 999, 999)
    said = _run(
        image("rabbitmq"), _RABBITMQ, uid=999, mounts={"/var/lib/rabbitmq": data, "/etc/rabbitmq": configuration},
        env={"HOME": "/var/lib/rabbitmq", "RABBITMQ_NODENAME": "rabbit@localhost"},
    )  # fmt: skip
    assert said.splitlines()[-2:] == ["rabbit@localhost", "1"], said


def test_memcached_answers_as_nobody(image: Callable[[str], Image]) -> None:
    ask = """memcached -U 0 &
for _ in $(seq 600); do (exec 3<>/dev/tcp/127.0.0.1/11211) 2> /dev/null && break; sleep 0.5; done
exec 3<>/dev/tcp/127.0.0.1/11211; printf 'version\\r\\n' >&3; head -1 <&3
"""
    assert "VERSION 1.6" in image("memcached").run("bash", "-c", ask).stdout


def test_dep_check_needs_nothing_else_and_ends_without_dependencies(image: Callable[[str], Image]) -> None:
    dep_check = image("dep-check")
    assert dep_check.run("/usr/local/bin/kubernetes-entrypoint").returncode == 0


def test_the_identity_job_makes_users_services_and_endpoints_in_a_real_keystone_and_brings_them_up_to_date(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    shutil.copy(CHARTS / "groundup-lib/files/identity.py", tmp_path)
    user = {"name": "glance", "domain": "service", "project": "service", "project_domain": "service"}
    for file, word, public in (("first", "one-word", "http://a"), ("second", "other-word", "https://b")):
        urls = {"public": public, "internal": "http://c", "admin": "http://c"}
        wanted = {
            "region": "one",
            "roles": ["heat_stack_user"],
            "users": [
                {**user, "password": word, "roles": ["admin", "service"]},
                {"name": "heat-domain", "domain": "heat", "password": word, "roles": ["admin"]},
            ],
            "services": [{"type": "image", "name": "glance", "endpoints": urls}],
        }
        (tmp_path / f"{file}.json").write_text(json.dumps(wanted))
    mounts = {"/mnt": tmp_path, "/etc/keystone": _owned(tmp_path / "etc", 42424)}
    said = _run(image("openstack"), _KEYSTONE, uid=42424, mounts=mounts)
    assert said.count("== ") == 3, said
    first, again, second = (part.splitlines()[1:] for part in said.split("== ")[1:])
    assert {"domain service: made", "user glance: made", "service glance (image): made"} <= set(first), said
    assert {"role heat_stack_user: made", "domain heat: made", "user heat-domain: made"} <= set(first), said
    assert "endpoint image public http://a: made" in first
    assert [line for line in again if not line.endswith(": there")] == [
        "user glance: admin, service of project service",
        "user heat-domain: admin of domain heat",
    ]
    assert "user heat-domain: password set" in second
    assert {"user glance: password set", "endpoint image public https://b: was http://a"} <= set(second), said
    assert second[-2:] == ["token with one-word: 1", "token with other-word: 0"], said
    assert "-word" not in "".join([*first, *again, *second[:-2]])
