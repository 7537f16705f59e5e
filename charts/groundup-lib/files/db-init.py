#!/usr/bin/env python3
"""Makes a service's schema and its database account, or brings the account's password up to date.

Usage: db-init.py FILE      FILE is the service's configuration; its [database] connection says what to make.
ROOT_DB_CONNECTION is the administrator's connection. Safe to repeat.
"""

from __future__ import annotations

import configparser
import os
import sys
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


def main() -> None:
    """Do it."""
    config = configparser.RawConfigParser(strict=False)
    if not config.read(sys.argv[1]):
        raise SystemExit(f"{sys.argv[1]} cannot be read")
    service = urlsplit(config.get("database", "connection"))
    root = urlsplit(os.environ["ROOT_DB_CONNECTION"])
    database = service.path.lstrip("/")
    print(f"{database} on {root.hostname}:{root.port} for {service.username}", flush=True)
    connection = pymysql.connect(
        host=root.hostname or "",
        port=root.port or 3306,
        user=unquote(root.username or ""),
        password=unquote(root.password or ""),
        connect_timeout=10,
    )
    with connection, connection.cursor() as cursor:
        for sql, arguments in statements(database, unquote(service.username or ""), unquote(service.password or "")):
            cursor.execute(sql, arguments or None)
    print("done", flush=True)


if __name__ == "__main__":
    main()
