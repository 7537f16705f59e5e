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
ALTER USER root@localhost IDENTIFIED BY 'word';
end
"""


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
