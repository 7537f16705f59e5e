"""Jobs that give a service its database and its virtual host."""

from __future__ import annotations

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import ModuleType
from typing import Any, ClassVar

import pytest

from .conftest import script

rabbit_init = script("groundup-lib/files/rabbit-init.py")


class Management(BaseHTTPRequestHandler):
    """RabbitMQ's management API, away for the first request."""

    asked: ClassVar[list[tuple[str, str | None, Any]]] = []

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, self.headers["Authorization"], body))
        self.send_response(503 if len(self.asked) == 1 else 201)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_a_services_virtual_host_and_account_are_made_in_rabbitmq_once_it_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = HTTPServer(("127.0.0.1", 0), Management)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at = f"127.0.0.1:{server.server_port}"
    monkeypatch.setenv("RABBITMQ_ADMIN_CONNECTION", f"rabbit://root:a%2Fdmin@{at}/toy")
    monkeypatch.setenv("RABBITMQ_USER_CONNECTION", f"rabbit://toy:sec%40ret@{at}/toy")
    monkeypatch.setattr(rabbit_init, "PAUSE", 0.0)
    rabbit_init.main()
    server.shutdown()
    server.server_close()
    login = f"Basic {base64.b64encode(b'root:a/dmin').decode()}"
    assert Management.asked[1:] == [
        ("/api/vhosts/toy", login, {}),
        ("/api/users/toy", login, {"password": "sec@ret", "tags": ""}),
        ("/api/permissions/toy/toy", login, {"configure": ".*", "write": ".*", "read": ".*"}),
    ]
    assert "sec@ret" not in capsys.readouterr().out


def test_every_database_of_a_service_is_made_with_its_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[tuple[str, str]] = []
    monkeypatch.setitem(sys.modules, "pymysql", ModuleType("pymysql"))
    db_init = script("groundup-lib/files/db-init.py")
    monkeypatch.setattr(db_init, "make", lambda admin, service: made.append((admin, service)))
    for name in ("oslo_db", "oslo_db_cell0"):
        monkeypatch.setenv(f"ADMIN_{name}", f"root of {name}")
        monkeypatch.setenv(f"SERVICE_{name}", f"nova in {name}")
    db_init.main()
    assert made == [(f"root of {name}", f"nova in {name}") for name in ("oslo_db", "oslo_db_cell0")]


class Database:
    """MariaDB's accounts, as pymysql reaches them."""

    def __init__(self, *passwords: str) -> None:
        self.passwords, self.said = passwords, list[tuple[str, object]]()
        self.err = ModuleType("pymysql.err")
        self.err.OperationalError = type("OperationalError", (Exception,), {})  # type: ignore[attr-defined]

    def connect(self, *, user: str, password: str, **_: object) -> Database:
        if user == "nova" and password not in self.passwords:
            raise self.err.OperationalError(1045, "Access denied")
        return self

    def close(self) -> None:
        """Nothing is open."""

    def cursor(self) -> Database:
        return self

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def execute(self, sql: str, arguments: object) -> None:
        self.said.append((sql, arguments))


@pytest.mark.parametrize(("passwords", "altered"), [(("word", "old"), False), (("old",), True)])
def test_a_password_that_works_is_not_set_again_or_a_rotation_would_lose_the_second(
    monkeypatch: pytest.MonkeyPatch, passwords: tuple[str, ...], altered: bool
) -> None:
    database = Database(*passwords)
    monkeypatch.setitem(sys.modules, "pymysql", database)
    db_init = script("groundup-lib/files/db-init.py")
    db_init.make("mysql+pymysql://root:x@db:3306/", "mysql+pymysql://nova:word@db:3306/no%60v")
    alter = ("ALTER USER %s@'%%' IDENTIFIED BY %s", ("nova", "word"))
    assert (alter in database.said) is altered
    assert database.said[1] == ("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", ("nova", "word"))
    assert database.said[-1] == ("GRANT ALL PRIVILEGES ON `no%%60v`.* TO %s@'%%'", ("nova",))
