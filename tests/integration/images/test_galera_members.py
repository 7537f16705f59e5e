"""Who may join the database's cluster and get a copy, and whom a member lets go: real members, the chart's options."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.authorities import Use
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import LeafSpec, ensure_authority, ensure_leaf
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

from .conftest import Image
from .stage import Stage
from .test_services import CHARTS, _owned

# Members have addresses of the loopback; member 1 has the socket of the chart's probes.
_MEMBERS = r"""
set -u
WAIT="pc.announce_timeout=PT3S; pc.wait_prim_timeout=PT10S"
member() {  # number, files of TLS ("": none), further options
  local here=/var/lib/mysql/$1; mkdir -p $here/data $here/tmp
  sed "s#0\.0\.0\.0#127.0.0.$1#g; s#/run/secrets/galera#${2:-none}#g
    s#gmcast.listen#$WAIT; gmcast.listen#" /mnt/00-base.cnf > $here/base.cnf
  [ -n "$2" ] || sed -i 's#socket.ssl[^;"]*;* *##g; /^\[sst\]/,$d' $here/base.cnf
  printf '!include %s\n' $here/base.cnf /mnt/20-override.cnf > $here/my.cnf
  printf '%s\n' '[mysqld]' datadir=$here/data tmpdir=$here/tmp pid_file=$here/pid socket=$here/socket \
    innodb_buffer_pool_size=32M wsrep_node_name=m$1 wsrep_node_address=127.0.0.$1 wsrep_sst_auth=sst:word \
    wsrep_sst_receive_address=127.0.0.$1:4444 wsrep_cluster_address=gcomm://127.0.0.1:4567 >> $here/my.cnf
  shift 2; printf '%s\n' "$@" >> $here/my.cnf
  exec mariadbd --defaults-file=$here/my.cnf --init-file=/tmp/narrow.sql >> $here/log 2>&1
}
ask() { mariadb --no-defaults --socket=/var/lib/mysql/$1/socket -uroot -pword --batch --skip-column-names -e "$2"; }
is() { [ "$(ask $1 "SHOW STATUS LIKE 'wsrep_$2'" | cut -f2)" = "$3" ]; }
wait_for() {
  for _ in $(seq 1200); do "$@" 2>/dev/null && return; sleep 0.2; done
  echo "waited for: $*"; tail -n 40 /var/lib/mysql/?/log; exit 1
}
intrudes() {  # number, files
  member $1 "$2" skip-grant-tables &
  while kill -0 $! 2>/dev/null && ! is $1 cluster_status Primary 2>/dev/null; do sleep 0.2; done
  echo "intruder $1 reads: $(ask $1 'SELECT * FROM d.t' 2>&1 | tail -1)"
  kill $! 2>/dev/null; wait $!
  echo "intruder $1 has: $(ls /var/lib/mysql/$1/data | grep -cx d)"
}
shown() {
  openssl s_client -connect 127.0.0.1:4567 </dev/null 2>/dev/null | openssl x509 -noout -serial 2>&1 | tail -1
}

mkdir -p /var/lib/mysql/1/data
mariadb-install-db --no-defaults --datadir=/var/lib/mysql/1/data --skip-test-db \
  --auth-root-authentication-method=normal >/dev/null
python3 - > /tmp/accounts.sql <<end
import sys; sys.path.insert(0, "/mnt"); import galera_data
names = {"ADMIN": "root", "SST": "sst", "AUDIT": "audit"}
print(galera_data.accounts_sql({f"MYSQL_DB{who}_{what}": value for who, name in names.items()
                                for what, value in (("USERNAME", name), ("PASSWORD", "word"))}))
end
python3 - > /tmp/narrow.sql <<end
import sys; sys.path.insert(0, "/mnt"); import galera_data
print(galera_data.narrowing_sql({"MYSQL_DBADMIN_USERNAME": "root", "MYSQL_DBAUDIT_USERNAME": "audit",
                                 "MYSQL_DBAUDIT_PASSWORD": "word"}))
end
granted() { ask $1 "SHOW GRANTS FOR audit@'%'" | grep -o 'GRANT .* ON' | paste -sd,; }
sed -i "s/^SHUTDOWN/GRANT SELECT ON *.* TO 'audit'@'%';\n&/" /tmp/accounts.sql  # of an earlier release
mariadbd --no-defaults --datadir=/var/lib/mysql/1/data --skip-networking --init-file=/tmp/accounts.sql >/dev/null 2>&1
ln -s /var/lib/mysql/1/socket /run/mysqld/mysqld.sock
member 1 /run/secrets/galera wsrep_cluster_address=gcomm:// & first=$!
wait_for is 1 local_state_comment Synced
ask 1 "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, word TEXT); INSERT INTO d.t VALUES (1, 'SECRET')"
intrudes 3 ""
intrudes 4 /mnt/stranger
intrudes 5 /mnt/site
echo "size with intruders: $(ask 1 "SHOW STATUS LIKE 'wsrep_cluster_size'" | cut -f2)"
member 2 /run/secrets/galera & second=$!
wait_for is 2 local_state_comment Synced
echo "auditor may: $(granted 1); $(granted 2)"
echo "second reads: $(ask 2 'SELECT word FROM d.t')"
mariadb-admin --no-defaults --socket=/var/lib/mysql/2/socket -uroot -pword shutdown; wait $second
copies() { grep -c "mariabackup $1 completed on joiner" /var/lib/mysql/2/log; }
echo "whole copies: $(copies SST)"
ask 1 "INSERT INTO d.t VALUES (2, 'LATER')"
member 2 /run/secrets/galera & second=$!
wait_for is 2 local_state_comment Synced
echo "second reads later: $(ask 2 'SELECT word FROM d.t WHERE id = 2')"
echo "copies later: $(copies SST) whole, $(copies IST) of what was lacking"
echo "lacking by: $(grep -o 'IST receiver using .*' /var/lib/mysql/2/log | sort -u)"
bash /mnt/health.sh liveness; echo "shown first: $(shown)"
# Clients of a member: one that waits for its next statement, one in a transaction. `pod/writer` is the label.
ready() { sleep 0.6; bash /mnt/health.sh readiness; sleep 0.2; }  # one that was used just now is not idle
clients() {
  echo "$(ask 1 "SELECT COALESCE(GROUP_CONCAT(user ORDER BY user), 'nobody') FROM information_schema.processlist
    WHERE user IN ('idle', 'busy')")"
}
client() { mkfifo /tmp/$1; mariadb --no-defaults --host=127.0.0.1 --user=$1 --password=word --unbuffered < /tmp/$1 & }
ask 1 "CREATE USER idle IDENTIFIED BY 'word'; CREATE USER busy IDENTIFIED BY 'word'; GRANT SELECT ON d.* TO busy"
client idle; exec 6> /tmp/idle; client busy; exec 7> /tmp/busy
echo "START TRANSACTION; SELECT COUNT(*) FROM d.t;" >&7
both() { [ "$(clients)" = busy,idle ] && [ "$(ask 1 "SELECT COUNT(*) FROM information_schema.innodb_trx")" = 1 ]; }
wait_for both
ready; echo "clients of one member of one: $(clients)"
echo true > /run/pod/writer; ready; echo "clients of the writer: $(clients)"
: > /run/pod/writer; ready; echo "clients of a former writer: $(clients)"
echo "COMMIT;" >&7
done_with() { [ "$(ask 1 "SELECT COUNT(*) FROM information_schema.innodb_trx")" = 0 ]; }
wait_for done_with
echo "clients that a longer wait leaves: $(sleep 0.6; bash /mnt/health.sh release 60000 0)"
ready; echo "clients after the transaction: $(clients)"
rm /tmp/idle; client idle; exec 6> /tmp/idle
idle() { [ "$(clients)" = idle ]; }
wait_for idle
mkdir /tmp/slow
echo "$(command -v mariadb)"' "$@"; : > /tmp/looked; sleep 5' > /tmp/slow/mariadb; chmod +x /tmp/slow/mariadb
sleep 0.6; PATH=/tmp/slow:$PATH bash /mnt/health.sh release 500 0 > /dev/null & slow=$!
wait_for test -e /tmp/looked; sleep 1  # a busy machine: the next program begins late, and the client asks meanwhile
echo "clients after a look: $(clients)"; wait $slow
rm -f /tmp/idle; client idle; exec 6> /tmp/idle
wait_for idle
(while echo "SELECT SLEEP(0.4);" >&6; do sleep 0.9; done 2> /dev/null) & asks=$!  # never idle for 600 ms
echo "busy clients that a look of a second leaves: $(bash /mnt/health.sh release 2000 1)"
echo "busy clients that looks leave: $(bash /mnt/health.sh release 300 5)"
kill $asks 2> /dev/null || true
ln -sfn second /run/secrets/galera/..data
echo "shown before the probe: $(shown)"
bash /mnt/health.sh liveness; echo "shown then: $(shown)"
mariadb-admin --no-defaults --socket=/var/lib/mysql/2/socket -uroot -pword shutdown; wait $second
member 2 /run/secrets/galera & second=$!
wait_for is 2 local_state_comment Synced
echo "size at last: $(ask 1 "SHOW STATUS LIKE 'wsrep_cluster_size'" | cut -f2)"
"""


def _certificate(place: Path, store: Store, directory: Path, *, use: Use, user: str) -> str:
    """Have a certificate of the CA for ``use`` as a Secret's files, and return its serial number as openssl says it."""
    authority = ensure_authority(store, directory, site="test", use=use)
    (directory / f"pki/{user}.crt").unlink(missing_ok=True)
    spec = LeafSpec(user=user, usage="both", names=("mariadb-server",), authority=use)
    leaf = ensure_leaf(authority, store, directory, spec)
    place.mkdir()
    for file, text in (("tls.crt", leaf.pem), ("tls.key", store.get(spec.key_name)), ("ca.crt", authority.pem)):
        (place / file).write_text(text)
        os.chown(place / file, 999, 999)
    serial = f"{leaf.certificate.serial_number:X}"
    return f"serial={serial:0>{len(serial) + len(serial) % 2}}"  # whole bytes


def test_only_a_member_with_the_clusters_own_certificate_joins_it_by_a_whole_copy_and_by_what_it_lacks(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    """The stranger has an authority of its own, `site` a certificate of the site's CA: neither gets a row."""
    place = tmp_path / "member"
    place.mkdir()
    tmp_path.chmod(0o755)
    (config,) = [one["data"] for one in Stage(tmp_path).render("mariadb")
                 if (one["kind"], one["metadata"]["name"]) == ("ConfigMap", "mariadb-etc")]  # fmt: skip
    for name in ("00-base.cnf", "20-override.cnf"):
        (place / name).write_text(config[name])
    for file in (CHARTS / "mariadb/files").iterdir():
        shutil.copy(file, place)
    ours, other = (tmp_path / name for name in ("ours", "other"))
    for directory in (ours, other):
        directory.mkdir()
    store, foreign = (Store.open(one, PasswordSource(path=one / "password", ours=True)) for one in (ours, other))
    secret = _owned(tmp_path / "secret", 999)
    serials = [_certificate(secret / one, store, ours, use="galera", user="galera") for one in ("first", "second")]
    _certificate(place / "stranger", foreign, other, use="galera", user="galera")
    _certificate(place / "site", store, ours, use="site", user="edge")
    (secret / "..data").symlink_to("first")
    for name in ("tls.crt", "tls.key", "ca.crt"):
        (secret / name).symlink_to(f"..data/{name}")
    etc = _owned(tmp_path / "etc", 999)
    (etc / "admin_user.cnf").write_text("[client]\nuser = root\npassword = word\n")
    mounts = {"/var/lib/mysql": _owned(tmp_path / "data", 999), "/run/mysqld": _owned(tmp_path / "run", 999),
              "/run/secrets/galera": secret, "/run/pod": _owned(tmp_path / "pod", 999),
              "/mnt": place, "/etc/mysql": etc}  # fmt: skip
    said = image("mariadb").run("bash", "-c", _MEMBERS, uid=999, mounts=mounts).stdout
    found = dict(re.findall(r"^([a-z0-9 ]+): (.*)$", said, re.M))
    for intruder in "345":
        assert "SECRET" not in found[f"intruder {intruder} reads"], said
        assert found[f"intruder {intruder} has"] == "0", said
    assert found["size with intruders"] == "1", said
    assert (found["second reads"], found["whole copies"]) == ("SECRET", "1"), said
    assert found["auditor may"] == "; ".join(["GRANT USAGE ON,GRANT EXECUTE ON"] * 2), said
    assert found["second reads later"] == "LATER", said
    assert found["copies later"] == "1 whole, 1 of what was lacking", said
    assert found["lacking by"] == "IST receiver using ssl", said
    assert [found[f"clients {of}"] for of in (
        "of one member of one", "of the writer", "of a former writer", "after the transaction",
    )] == ["busy,idle", "busy,idle", "busy", "nobody"], said  # fmt: skip
    assert found["clients that a longer wait leaves"] == "1", said
    assert found["clients after a look"] == "nobody", said
    assert found["busy clients that a look of a second leaves"] == "1", said
    assert found["busy clients that looks leave"] == "0", said
    assert [found[f"shown {when}"] for when in ("first", "before the probe", "then")] == [
        serials[0], serials[0], serials[1],
    ], said  # fmt: skip
    assert found["size at last"] == "2", said
