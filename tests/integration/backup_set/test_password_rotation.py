"""MariaDB itself: an account has two passwords at once, then only the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.mariadb import DatabaseAccounts, native
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image

from .containers import Namespaces, container
from .test_mariadb import _owned

_START = """
set -eu
mariadb-install-db --no-defaults --datadir=/var/lib/mysql --skip-test-db \\
  --auth-root-authentication-method=normal >/dev/null
setsid mariadbd --no-defaults --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock --skip-networking \\
  --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M </dev/null >/var/lib/mysql/log 2>&1 &
ask() { mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -uroot "$@"; }
for _ in $(seq 600); do ask -e 'SELECT 1' >/dev/null 2>&1 && break; sleep 0.1; done
ask <<end
CREATE USER nova@'%' IDENTIFIED BY 'before'; CREATE USER 'it''s'@'%' IDENTIFIED BY 'before';
ALTER USER root@localhost IDENTIFIED BY 'word'; CREATE USER root@'%' IDENTIFIED BY 'word';
CREATE DATABASE keystone; CREATE DATABASE nova_api;
CREATE TABLE keystone.trust (trustor_user_id VARCHAR(64), trustee_user_id VARCHAR(64), deleted_at DATETIME);
CREATE TABLE nova_api.key_pairs (user_id VARCHAR(255));
INSERT INTO keystone.trust VALUES ('a1', 'b2', NULL), ('b2', 'c3', NULL), ('a1', 'd4', NOW());
INSERT INTO nova_api.key_pairs VALUES ('b2'), ('b2');
end
"""

_KEPT = """mariadb --defaults-file=/etc/mysql/admin_user.cnf --host=localhost --batch --skip-column-names -e "
SELECT host, JSON_VALUE(priv, '$.authentication_string') FROM mysql.global_priv WHERE user = 'root' AND host IN
('%', 'localhost') ORDER BY host" """


@pytest.fixture(scope="module")
def member(image: Callable[[str], Image], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespaces]:
    place = tmp_path_factory.mktemp("rotated")
    etc = _owned(place / "etc")
    (etc / "admin_user.cnf").write_text('[client]\nuser = root\npassword = "word"\nhost = localhost\nport = 3306\n')
    mounts = {"/var/lib/mysql": _owned(place / "data"), "/run/mysqld": _owned(place / "run"), "/etc/mysql": etc}
    with container(image("mariadb"), "pod mariadb-server-0", mounts) as found:
        done = found.run(["bash", "-c", _START])
        assert done.code == 0, done.stderr
        yield found


@pytest.mark.parametrize("user", ["nova", "it's"])
def test_both_passwords_log_in_and_then_the_old_is_refused(member: Namespaces, user: str) -> None:
    database = DatabaseAccounts([member, member])
    assert database.accepts(user, "before")
    assert database.refuses(user, "after")
    database.set(user, "after", "before")
    assert database.accepts(user, "before")
    assert database.accepts(user, "after")
    assert database.refuses(user, "another")
    database.set(user, "after")
    assert database.accepts(user, "after")
    assert database.refuses(user, "before")


def test_an_account_that_is_not_there_is_an_error_and_not_a_change(member: Namespaces) -> None:
    with pytest.raises(GroundupError, match="the password of nobody cannot be set: ERROR 1396") as refused:
        DatabaseAccounts([member]).set("nobody", "after")
    assert native("after") not in str(refused.value)


def test_a_server_that_is_away_is_no_refusal(member: Namespaces) -> None:
    away = Namespaces(member.name, member.pid)
    database = DatabaseAccounts([away])
    member.run(["mv", "/run/mysqld/mysqld.sock", "/run/mysqld/away"])
    with pytest.raises(GroundupError, match="nova cannot log in: ERROR 2002"):
        database.refuses("nova", "before")
    member.run(["mv", "/run/mysqld/away", "/run/mysqld/mysqld.sock"])
    assert database.refuses("nova", "another")


def test_the_administrator_has_two_passwords_for_each_host_and_goes_on_with_either(member: Namespaces) -> None:
    database, hosts = DatabaseAccounts([member]), ("%", "localhost")
    database.set("root", "next", "word", hosts=hosts)
    assert database.accepts("root", "word")
    assert database.accepts("root", "next")
    database.set("nova", "after", "more")  # the member still logs in with the old one
    database.set("root", "word", hosts=hosts)
    assert database.refuses("root", "next")
    kept = member.run(["bash", "-c", _KEPT]).stdout.split("\n")
    assert kept == [f"{host}\t{native('word')}" for host in hosts] + [""]


def test_rows_that_name_a_user_are_counted_by_table(member: Namespaces) -> None:
    found = DatabaseAccounts([member]).naming(["a1", "b2", "d4", "it's"])
    assert found == {"a1": {"keystone.trust": 1}, "b2": {"keystone.trust": 2, "nova_api.key_pairs": 2}}
    assert DatabaseAccounts([member]).naming([]) == {}
