"""Passwords of accounts in MariaDB, which takes several for one account at once."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..backup.sets.mariadb import CONTAINER, SELECTOR
from ..errors import GroundupError
from ..kube.client import Api, Executed
from ..kube.piped import Container, PodContainer
from ..kube.types import resource_path
from ..kube.workloads import is_ready

_ADMIN = ("mariadb", "--defaults-file=/etc/mysql/admin_user.cnf", "--host=localhost", "--batch", "--connect-timeout=10")
# The password comes by standard input: a command line, and the record of an exec, can be read by others.
_LOGIN = (
    "sh", "-c",
    "IFS= read -r MYSQL_PWD; export MYSQL_PWD; "
    'exec mariadb --no-defaults --host=localhost --user="$1" --connect-timeout=10 --execute="DO 1"',
    "login",
)  # fmt: skip
# Where the members' own accounts log in from, by their secret.
MEMBER_HOSTS = {"mariadb/root": ("%", "localhost"), "mariadb/sst": ("localhost",), "mariadb/audit": ("%",)}
_DENIED = "ERROR 1045 "
# Tables by which somebody finds a user of Keystone by its id: schema, table, column, rows that count.
_NAMING = (
    ("keystone", "trust", "trustee_user_id", " AND deleted_at IS NULL"),
    ("keystone", "trust", "trustor_user_id", " AND deleted_at IS NULL"),
    ("keystone", "credential", "user_id", ""),
    ("keystone", "application_credential", "user_id", ""),
    ("barbican", "secret_acl_users", "user_id", " AND deleted = 0"),
    ("barbican", "container_acl_users", "user_id", " AND deleted = 0"),
    ("nova_api", "key_pairs", "user_id", ""),
)


def members(api: Api, namespace: str) -> list[Container]:
    """Return the members that are Ready. Raises GroundupError when one is not, or there is none; ApiError."""
    pods = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=SELECTOR)["items"]
    away = [str(pod["metadata"]["name"]) for pod in pods if not is_ready(pod)]
    if away or not pods:
        raise _failed(f"{', '.join(away)} is not Ready" if away else "no member has a pod", f"namespace {namespace}")
    names = sorted(str(pod["metadata"]["name"]) for pod in pods)
    return [PodContainer(api=api, namespace=namespace, pod=name, container=CONTAINER) for name in names]


def native(password: str) -> str:
    """Return what MariaDB keeps of a password (mysql_native_password): a statement with it shows no password."""
    inner = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return "*" + hashlib.sha1(inner, usedforsecurity=False).hexdigest().upper()


def identified(user: str, passwords: Iterable[str], hosts: Iterable[str] = ("%",)) -> str:
    """Return what of a statement lets an account, for all its ``hosts``, have ``passwords`` and no others."""
    ways = " OR ".join(f"mysql_native_password USING '{native(one)}'" for one in passwords)
    return ", ".join(f"'{_quoted(user)}'@'{host}' IDENTIFIED VIA {ways}" for host in hosts)


@dataclass(frozen=True, slots=True)
class DatabaseAccounts:
    """The cluster: what one member is told, all know."""

    members: list[Container]

    def set(self, user: str, *passwords: str, hosts: Sequence[str] = ("%",)) -> None:
        """Let an account, for all its ``hosts``, have ``passwords`` and no others. Raises GroundupError, ApiError."""
        # The stream has no end: the client has to be told.
        sql = f"ALTER USER {identified(user, passwords, hosts)};\nquit\n"
        done = self.members[0].run(_ADMIN, source=[sql.encode()])
        if done.code:
            raise _failed(f"the password of {user} cannot be set: {_end(done)}", self.members[0].name)

    def accepts(self, user: str, password: str) -> bool:
        """Return whether every member lets ``user`` in with ``password``. Raises GroundupError, ApiError."""
        return all(self._logins(user, password))

    def refuses(self, user: str, password: str) -> bool:
        """Return whether no member does. Raises GroundupError, ApiError."""
        return not any(self._logins(user, password))

    def naming(self, ids: Collection[str]) -> dict[str, dict[str, int]]:
        """Return by user of Keystone, of ``ids``, how many rows of which table name it. Raises GroundupError, ApiError.

        Such a row is of no use to another user.
        """
        if not ids:
            return {}
        wanted = ", ".join(f"'{_quoted(one)}'" for one in sorted(ids))
        asked = [
            f"SELECT '{schema}.{table}', {column}, COUNT(*) FROM {schema}.{table} "  # noqa: S608  # names of ours
            f"WHERE {column} IN ({wanted}){condition} GROUP BY {column}"
            for schema, table, column, condition in self._there(_NAMING)
        ]
        found: dict[str, dict[str, int]] = {}
        for place, one, number in self._rows(" UNION ALL ".join(asked)) if asked else ():
            rows = found.setdefault(one, {})
            rows[place] = rows.get(place, 0) + int(number)
        return found

    def _there(self, tables: Sequence[tuple[str, str, str, str]]) -> list[tuple[str, str, str, str]]:
        columns = ", ".join(f"('{schema}', '{table}', '{column}')" for schema, table, column, _ in tables)
        there = self._rows(
            "SELECT table_schema, table_name, column_name FROM information_schema.columns "  # noqa: S608  # names of ours
            f"WHERE (table_schema, table_name, column_name) IN ({columns})"
        )
        return [one for one in tables if list(one[:3]) in there]

    def _rows(self, sql: str) -> list[list[str]]:
        done = self.members[0].run((*_ADMIN, "--skip-column-names"), source=[f"{sql};\nquit\n".encode()])
        if done.code:
            raise _failed(f"it cannot be asked: {_end(done)}", self.members[0].name)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def _logins(self, user: str, password: str) -> Iterator[bool]:
        for member in self.members:
            done = member.run((*_LOGIN, user), source=[f"{password}\n".encode()])
            if done.code and _DENIED not in done.stderr:
                raise _failed(f"{user} cannot log in: {_end(done)}", member.name)
            yield not done.code


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")


def _end(done: Executed) -> str:
    """Return the error alone: the client says the statement, too, with what MariaDB keeps of a password."""
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR ")]
    return " | ".join(errors)[-300:] or f"it ended with code {done.code}"


def _failed(what: str, where: str) -> GroundupError:
    return GroundupError(
        f"MariaDB: {what}", where=where, why="passwords change only where every member takes part",
        remedy="run the playbook groundup.cloud.openstack, tag verify: it says what is wrong with the database; then "
        "run this again",
    )  # fmt: skip
