"""A proxy that writes down what it is asked, and brings every request to one server, whatever its name."""

from __future__ import annotations

import base64
import http.client
import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from ansible_collections.groundup.cloud.tests.unit import tls


class Proxy(ThreadingHTTPServer):
    """Requests by method and target; who gives no ``login`` is refused."""

    def __init__(self, ports: Mapping[str, int], login: str) -> None:
        """Listen on a free port of loopback. ``ports``: where the server of a scheme listens."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.ports, self.login = dict(ports), login
        self.seen: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""

    def _known(self) -> bool:
        self.server.seen.append(f"{self.command} {self.path}")
        wanted = f"Basic {base64.b64encode(self.server.login.encode()).decode()}"
        if not self.server.login or self.headers.get("Proxy-Authorization") == wanted:
            return True
        self.send_response(407)
        self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def do_CONNECT(self) -> None:
        if not self._known():
            return
        there = socket.create_connection(("127.0.0.1", self.server.ports["https"]))
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        ends = {self.connection: there, there: self.connection}
        with there:
            while ready := select.select(list(ends), [], [], 20)[0]:
                for one in ready:
                    if not (data := one.recv(65536)):
                        return
                    ends[one].sendall(data)

    def do_GET(self) -> None:
        if not self._known():
            return
        parts = urlsplit(self.path)
        there = http.client.HTTPConnection("127.0.0.1", self.server.ports["http"], timeout=20)
        there.request(self.command, parts.path or "/", headers={"Host": parts.netloc})
        answer = there.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
        self.end_headers()
        self.wfile.write(body)
        there.close()

    do_HEAD = do_GET  # noqa: N815 - a name the base class looks for


@contextmanager
def proxying(*, login: str = "", **ports: int) -> Iterator[Proxy]:
    """Give a proxy that runs until the end of the block."""
    proxy = Proxy(ports, login)
    with tls.serving(proxy):
        yield proxy
