"""Attacks HAProxy as its role configures it, and serves what is behind it; prints what was seen as JSON.

Usage: edge_trial.py CERTIFICATE     in the network of the HAProxy, whose address is 10.9.0.2
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

VIP, HOSTS, USERS = "10.9.0.2", "10.9.1.", "127.0.1."
PATIENCE = 60.0
TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRUST.check_hostname, TRUST.verify_mode = False, ssl.CERT_NONE


class Answers(http.server.BaseHTTPRequestHandler):
    """Refuse every login but the right one; answer everything else."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        """Answer a request."""
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(401 if sent == b"wrong" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = answer  # noqa: N815  # the library's names

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server whose clients may leave in the middle."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing."""


def serve(port: int, certificate: str = "") -> None:
    """Serve on loopback."""
    server = Server(("127.0.0.1", port), Answers)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(name: str, path: str, *, source: str, method: str = "GET", body: bytes = b"", port: int = 443) -> Any:
    """Return status and headers of an answer; None when the connection is not taken."""
    try:
        raw = socket.create_connection((VIP, port), timeout=20, source_address=(source, 0))
        client = http.client.HTTPConnection(name)
        client.sock = TRUST.wrap_socket(raw, server_hostname=name)
        client.request(method, path, body)
        answer = client.getresponse()
        answer.read()
        client.close()
    except OSError:
        return None
    return answer.status, {name.lower(): said for name, said in answer.headers.items()}


def stats() -> list[dict[str, str]]:
    """Return HAProxy's own table."""
    with socket.socket(socket.AF_UNIX) as admin:
        admin.connect(sys.argv[2])
        admin.sendall(b"show stat\n")
        rows = "".join(iter(lambda: admin.recv(65536).decode(), "")).lstrip("# ").splitlines()
    return [dict(zip(rows[0].split(","), row.split(","), strict=False)) for row in rows[1:] if row]


def frontend(name: str, field: str = "scur") -> int:
    """Return the connections of a frontend; ``dcon``: those it refused so far."""
    return next(int(row[field]) for row in stats() if (row["pxname"], row["svname"]) == (name, "FRONTEND"))


def wait(what: str, ready: Callable[[], Any]) -> Any:
    """Return what ``ready`` returns once it is true."""
    end = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError):
            if found := ready():
                return found
        if time.monotonic() > end:
            raise SystemExit(f"waited for {what}: {[(row['pxname'], row['svname'], row['status']) for row in stats()]}")
        time.sleep(0.1)


def silent(port: int, count: int, *, sources: int) -> list[socket.socket]:
    """Open connections that say nothing, from several addresses."""
    made = []
    for number in range(count):
        source = f"{USERS}{number % sources + 1}"
        with contextlib.suppress(OSError):
            made.append(socket.create_connection((VIP, port), timeout=5, source_address=(source, 0)))
    return made


def main() -> None:
    """Try everything."""
    serve(30500)
    serve(30775)
    serve(6444, sys.argv[1])
    up = ("identity", "compute-metadata", "kubernetes")
    wait("servers", lambda: sum(row["status"] == "UP" and row["pxname"] in up for row in stats()) >= 2 * len(up))
    found: dict[str, Any] = {}
    identity, metadata = "identity.cloud.test", "metadata.cloud.test"
    own, user = f"{HOSTS}1", f"{USERS}200"

    def kubernetes() -> int:
        return int((ask("kubernetes", "/readyz", source=own, port=6443) or (0,))[0])

    flood = silent(443, 600, sources=30)
    wait("a full frontend", lambda: frontend("public") >= 300)
    found["full"] = frontend("public")
    found["kubernetes"] = [kubernetes() for _ in range(5)]
    with socket.create_connection(("127.0.0.1", 8404), timeout=20) as alive:
        alive.sendall(b"GET /alive HTTP/1.0\r\n\r\n")
        found["alive"] = alive.recv(100).split()[1].decode()
    for one in flood:
        one.close()
    wait("the end of the flood", lambda: frontend("public") == 0)
    before, lone = frontend("public", "dcon"), silent(443, 200, sources=1)
    found["one source"] = 200 - wait("refusals", lambda: max(0, frontend("public", "dcon") - before - 149) and 150)
    found["others"] = ask(identity, "/v3/", source=user)[0]
    for one in lone:
        one.close()
    quiet = silent(6443, 3, sources=1)
    wait("silent connections to be closed", lambda: frontend("kubernetes") == 0)
    for one in quiet:
        one.close()
    found["metadata"] = [ask(metadata, "/", source=source)[0] for source in (own, user)]
    answer = ask(identity, "/v3/", source=own)
    found["hsts"] = answer[1].get("strict-transport-security")

    def login(source: str, word: bytes) -> int:
        return int(ask(identity, "/v3/auth/tokens", source=source, method="POST", body=word)[0])

    found["wrong"] = [login(f"{USERS}210", b"wrong") for _ in range(12)]
    found["then right"] = login(f"{USERS}210", b"right")
    found["reads"] = ask(identity, "/v3/", source=f"{USERS}210")[0]
    found["elsewhere"] = login(f"{USERS}211", b"right")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
