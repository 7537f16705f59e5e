"""The administrator asks as a member of a project: by a token of that project, over real HTTP."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.api import CloudApi
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.holds import as_member
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.connection import Connection

WEB = "web-id"
LOGINS: list[dict[str, Any]] = []
ASKED: list[tuple[str, str, str]] = []  # method, path, token


class Handler(http.server.BaseHTTPRequestHandler):
    """As much of Keystone and Barbican as is asked. A token is named after its project."""

    put = 204  # answer to a new role

    def answer(self, status: int, body: Any = None, **headers: str) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        auth = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["auth"]
        LOGINS.append(auth)
        project = auth["scope"]["project"].get("id", "admin-id")
        here = f"http://{self.headers['Host']}"
        catalog = [
            {"type": kind, "id": kind, "name": kind, "endpoints": [
                {"interface": "public", "region_id": "R", "region": "R", "id": kind, "url": here + path}]}
            for kind, path in (("identity", "/v3"), ("key-manager", "/v1"))
        ]  # fmt: skip
        token = {
            "methods": ["password"], "expires_at": "2999-01-01T00:00:00.000000Z", "issued_at": "2026-01-01T00:00:00Z",
            "user": {"id": "admin-user", "name": "admin", "domain": {"id": "default", "name": "Default"}},
            "project": {"id": project, "name": project, "domain": {"id": "default", "name": "Default"}},
            "roles": [], "catalog": catalog,
        }  # fmt: skip
        self.answer(201, {"token": token}, X_Subject_Token=f"of-{project}")

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        found = {
            "/v3/roles": {"roles": [{"id": "member-role", "name": "member"}]},
            f"/v3/projects/{WEB}/users/admin-user/roles": {"roles": []},
            "/v1/secrets": {"secrets": [{"name": "theirs"}]},
        }
        self.note()
        self.answer(200, found[path]) if path in found else self.answer(404, {})

    def do_PUT(self) -> None:
        self.note()
        self.answer(self.put)

    def do_DELETE(self) -> None:
        self.note()
        self.answer(204)

    def note(self) -> None:
        ASKED.append((self.command, self.path.partition("?")[0], self.headers.get("X-Auth-Token", "")))

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def admin() -> Iterator[Connection]:
    """The administrator's connection to a server on loopback."""
    LOGINS.clear()
    ASKED.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as one:
        one.daemon_threads = True
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        auth = Password(
            auth_url=f"http://127.0.0.1:{one.server_port}/v3", username="admin", password="word",
            user_domain_name="Default", project_name="admin", project_domain_name="Default",
        )  # fmt: skip
        yield Connection(session=Session(auth=auth), region_name="R")
        one.shutdown()
        thread.join()


def test_a_member_asks_by_a_token_of_the_project_and_the_role_is_taken_back(admin: Connection) -> None:
    role = f"/v3/projects/{WEB}/users/admin-user/roles/member-role"
    with as_member(CloudApi(admin), WEB) as member:
        assert ("PUT", role, "of-admin-id") in ASKED
        assert member.all("key_manager", "/secrets", "secrets") == [{"name": "theirs"}]
    first, second = LOGINS
    assert first["identity"]["methods"] == ["password"]
    assert second["identity"] == {"methods": ["token"], "token": {"id": "of-admin-id"}}
    assert second["scope"] == {"project": {"id": WEB}}
    assert ("GET", "/v1/secrets", f"of-{WEB}") in ASKED
    assert ASKED[-1] == ("DELETE", role, "of-admin-id")


def test_a_role_whose_gift_was_answered_by_an_error_is_taken_back(
    admin: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that ends a request may do so after Keystone has done it."""
    monkeypatch.setattr(Handler, "put", 504)
    with pytest.raises(GroundupError, match="the administrator's role on project"), as_member(CloudApi(admin), WEB):
        raise AssertionError
    assert ASKED[-1][0] == "DELETE"
