#!/usr/bin/env python3
"""Make a service's databases and their account, or bring the account's password up to date.

Every variable ADMIN_<name> is the connection of a database's administrator, and SERVICE_<name> the connection that is
to work. Safe to repeat.
"""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

import pymysql

ACCESS_DENIED = 1045


def quoted(database: str) -> str:
    """Return the name of a database as SQL with arguments takes it."""
    return "`" + database.replace("`", "``").replace("%", "%%") + "`"


def connect(url: str) -> pymysql.Connection:
    """Connect as the account of ``url``, to no database."""
    at = urlsplit(url)
    return pymysql.connect(
        host=at.hostname or "",
        port=at.port or 3306,
        user=unquote(at.username or ""),
        password=unquote(at.password or ""),
        connect_timeout=10,
    )


def accepted(url: str) -> bool:
    """Return whether the account has the password. To set it again would end the second one of a rotation."""
    try:
        connect(url).close()
    except pymysql.err.OperationalError as error:
        if error.args[0] != ACCESS_DENIED:
            raise
        return False
    return True


def make(admin_url: str, service_url: str) -> None:
    """Make the database and the account that ``service_url`` names; it may do anything in it and nothing else."""
    admin, service = urlsplit(admin_url), urlsplit(service_url)
    database, user = service.path.lstrip("/"), unquote(service.username or "")
    account = (user, unquote(service.password or ""))
    with connect(admin_url) as connection, connection.cursor() as cursor:
        # Tables that name the character set, and those that do not, get one collation: else they cannot be joined.
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {quoted(database)} CHARACTER SET utf8mb3", ())
        cursor.execute("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", account)
        if not accepted(service_url):
            cursor.execute("ALTER USER %s@'%%' IDENTIFIED BY %s", account)
        cursor.execute(f"GRANT ALL PRIVILEGES ON {quoted(database)}.* TO %s@'%%'", (user,))
    print(f"{database} on {admin.hostname}:{admin.port} for {service.username}: there", flush=True)


def main() -> None:
    """Make every database."""
    for name, admin in sorted(os.environ.items()):
        if name.startswith("ADMIN_"):
            make(admin, os.environ["SERVICE_" + name.removeprefix("ADMIN_")])


if __name__ == "__main__":
    main()
