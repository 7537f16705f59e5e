"""How long the client of the Kubernetes API waits for one that is away, and what it never sends twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import client
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError

AWAY = 0  # an answer that never comes: the connection is closed


class Server(BaseHTTPRequestHandler):
    """Answers with ``statuses`` one after another, then with 200; says what an API server says of a failure."""

    statuses: list[int]
    message = "etcdserver: request timed out"
    asked: list[str]

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.append(self.command)
        status = self.statuses.pop(0) if self.statuses else 200
        if status == AWAY:
            self.connection.close()
            return
        text = json.dumps({"message": self.message} if status >= 400 else {"kind": "Thing"}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815  # the library calls them so

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Server]]:
    handler = type("Handler", (Server,), {"statuses": [], "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        url = f"http://127.0.0.1:{listening.server_port}"
        monkeypatch.setattr(client, "read", lambda _: SimpleNamespace(server=url, token="t", tls=lambda: None))
        monkeypatch.setattr(client, "_PAUSE", 0.0)
        threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
        yield handler
        listening.shutdown()


def api(*, patience: float = 60.0, answered: bool = True) -> Api:
    """Return a client whose API has ``answered`` before."""
    found = Api(Path("kubeconfig"), timeout=5.0, patience=patience)
    if answered:
        found.get("/version")
    return found


@pytest.mark.parametrize(("method", "tries"), [("GET", 2), ("PATCH", 2), ("DELETE", 2), ("POST", 1)])
def test_without_patience_a_request_whose_connection_is_closed_is_sent_once_more_unless_it_makes_something(
    server: type[Server], method: str, tries: int
) -> None:
    """As by an API server that restarts, behind a virtual IP that has another by then."""
    asking = api(patience=0.0, answered=False)
    server.statuses += [AWAY]
    if tries == 1:
        with pytest.raises(ApiError, match="does not answer"):
            asking.request(method, "/x")
    else:
        assert asking.request(method, "/x") == {"kind": "Thing"}
    assert server.asked == [method] * tries


@pytest.mark.parametrize("status", [AWAY, 429, 500, 503, 504])
def test_an_api_that_is_away_for_a_moment_is_asked_until_it_answers(server: type[Server], status: int) -> None:
    asking = api()
    server.statuses += [status] * 5
    assert asking.get("/apis/batch/v1/namespaces/openstack/jobs") == {"kind": "Thing"}
    server.statuses += [status] * 5
    assert asking.apply("/api/v1/namespaces/n/secrets/s", {}, manager="us") == {"kind": "Thing"}
    server.statuses += [status] * 5
    asking.delete("/api/v1/namespaces/n/pods/p")
    assert not server.statuses


def test_patience_ends_and_the_answer_is_told(server: type[Server]) -> None:
    asking = api(patience=0.2)
    server.statuses += [504] * 100_000
    with pytest.raises(ApiError, match="etcdserver: request timed out"):
        asking.get("/api/v1/pods")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_refusal_is_told_at_once(server: type[Server], status: int) -> None:
    asking = api()
    server.statuses += [status]
    with pytest.raises(ApiError):
        asking.get("/api/v1/pods")
    assert server.asked == ["GET", "GET"]


def test_a_fault_of_the_api_server_that_is_not_of_etcd_is_told_at_once(
    server: type[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = api()
    monkeypatch.setattr(server, "message", "no kind is registered")
    server.statuses += [500]
    with pytest.raises(ApiError, match="no kind"):
        asking.get("/api/v1/pods")


@pytest.mark.parametrize("status", [AWAY, 503])
def test_what_could_be_made_twice_and_what_has_its_own_timeout_is_sent_once(server: type[Server], status: int) -> None:
    asking = api()
    server.statuses += [status]
    with pytest.raises(ApiError):
        asking.request("POST", "/api/v1/namespaces/n/pods", body={})
    assert server.asked == ["GET", "POST"]
    server.statuses += [503]
    with pytest.raises(ApiError):
        asking.request("GET", "/lease", timeout=1.0)
    assert server.asked == ["GET", "POST", "GET"]


def test_an_api_that_never_answered_is_told_at_once(server: type[Server]) -> None:
    """A run that cannot begin does not wait two minutes to say so."""
    server.statuses += [503]
    with pytest.raises(ApiError):
        api(answered=False).get("/version")
    assert server.asked == ["GET"]
