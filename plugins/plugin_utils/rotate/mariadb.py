"""Passwords of accounts in MariaDB, which takes several for one account at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
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
_DENIED = "ERROR 1045 "


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


@dataclass(frozen=True, slots=True)
class Database:
    """The cluster: what one member is told, all know."""

    members: list[Container]

    def set(self, user: str, *passwords: str) -> None:
        """Let an account have ``passwords``, and no others. Raises GroundupError, ApiError."""
        ways = " OR ".join(f"mysql_native_password USING '{native(one)}'" for one in passwords)
        name = user.replace("\\", "\\\\").replace("'", "''")
        # The stream has no end: the client has to be told.
        sql = f"ALTER USER '{name}'@'%' IDENTIFIED VIA {ways};\nquit\n"
        done = self.members[0].run(_ADMIN, source=[sql.encode()])
        if done.code:
            raise _failed(f"the password of {user} cannot be set: {_end(done)}", self.members[0].name)

    def accepts(self, user: str, password: str) -> bool:
        """Return whether every member lets ``user`` in with ``password``. Raises GroundupError, ApiError."""
        return all(self._logins(user, password))

    def refuses(self, user: str, password: str) -> bool:
        """Return whether no member does. Raises GroundupError, ApiError."""
        return not any(self._logins(user, password))

    def _logins(self, user: str, password: str) -> Iterator[bool]:
        for member in self.members:
            done = member.run((*_LOGIN, user), source=[f"{password}\n".encode()])
            if done.code and _DENIED not in done.stderr:
                raise _failed(f"{user} cannot log in: {_end(done)}", member.name)
            yield not done.code


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
