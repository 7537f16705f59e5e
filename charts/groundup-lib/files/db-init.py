#!/usr/bin/env python3
"""Make a service's databases and their account, or bring the account's password up to date.

Every variable ADMIN_<name> is the connection of a database's administrator, and SERVICE_<name> the connection that is
to work. Safe to repeat.
"""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

import pymysql


def statements(database: str, user: str, password: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the SQL, with arguments, that makes ``database`` and lets ``user`` do anything in it and nothing else."""
    schema = "`" + database.replace("`", "``") + "`"
    return [
        (f"CREATE DATABASE IF NOT EXISTS {schema}", ()),
        ("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", (user, password)),
        ("ALTER USER %s@'%%' IDENTIFIED BY %s", (user, password)),
        (f"GRANT ALL PRIVILEGES ON {schema.replace('%', '%%')}.* TO %s@'%%'", (user,)),
    ]


def make(admin_url: str, service_url: str) -> None:
    """Make the database and the account that ``service_url`` names."""
    admin, service = urlsplit(admin_url), urlsplit(service_url)
    database = service.path.lstrip("/")
    connection = pymysql.connect(
        host=admin.hostname or "",
        port=admin.port or 3306,
        user=unquote(admin.username or ""),
        password=unquote(admin.password or ""),
        connect_timeout=10,
    )
    with connection, connection.cursor() as cursor:
        for sql, arguments in statements(database, unquote(service.username or ""), unquote(service.password or "")):
            cursor.execute(sql, arguments or None)
    print(f"{database} on {admin.hostname}:{admin.port} for {service.username}: there", flush=True)


def main() -> None:
    """Make every database."""
    for name, admin in sorted(os.environ.items()):
        if name.startswith("ADMIN_"):
            make(admin, os.environ["SERVICE_" + name.removeprefix("ADMIN_")])


if __name__ == "__main__":
    main()
