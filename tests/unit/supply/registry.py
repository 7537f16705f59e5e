"""A registry small enough for a test: what skopeo uses of the OCI distribution API, in memory, on loopback."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ansible_collections.groundup.cloud.tests.unit import tls

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


class Registry(ThreadingHTTPServer):
    """Blobs by digest, manifests by repository and tag or digest, and a log of requests."""

    def __init__(self) -> None:
        """Listen on a free port of loopback."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[tuple[str, str], bytes] = {}
        self.kinds: dict[str, str] = {}  # media type by digest, of what is no manifest of one image
        self.requests: list[tuple[str, str]] = []
        self.uploads = 0
        self.read_only = False
        self.login: str | None = None  # user:password; "" anybody, who asks for a token; None: no question
        self.address = f"127.0.0.1:{self.server_port}"

    def pushes(self) -> int:
        """How many manifests were put so far."""
        return sum(1 for method, path in self.requests if method == "PUT" and "/manifests/" in path)


class _Handler(BaseHTTPRequestHandler):
    server: Registry
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second waited 40 ms for an acknowledgement

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _known(self) -> bool:
        """Return whether the client shows a token, as public registries want; else send it for one, or refuse it."""
        login, address = self.server.login, self.server.address
        shown = self.headers.get("Authorization", "")
        if login is None or shown == "Bearer of-unit":
            return True
        if self.path.startswith("/token"):
            wanted = f"Basic {base64.b64encode(login.encode()).decode()}"
            if login and shown != wanted:
                self._answer(401, b'{"errors": [{"code": "UNAUTHORIZED", "message": "who are you"}]}')
            else:
                self._answer(200, b'{"token": "of-unit"}', Content_Type="application/json")
        else:
            question = f'Bearer realm="http://{address}/token",service="unit",scope="repository:unit/image:pull"'
            self._body()
            self._answer(401, WWW_Authenticate=question)
        return False

    def _get(self) -> None:
        self.server.requests.append((self.command, self.path))
        if not self._known():
            return None
        if found := re.fullmatch(r"/v2/.+/blobs/(sha256:\w+)", self.path):
            content = self.server.blobs.get(found[1])
        elif found := re.fullmatch(r"/v2/(.+)/manifests/(.+)", self.path):
            content = self.server.manifests.get((found[1], found[2]))
        else:
            return self._answer(200 if self.path == "/v2/" else 404)
        if content is None:
            return self._answer(404)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        kind = self.server.kinds.get(digest, MANIFEST)
        return self._answer(200, content, Docker_Content_Digest=digest, Content_Type=kind)

    def _store(self) -> None:
        self.server.requests.append((self.command, self.path))
        if not self._known():
            return None
        body = self._body()
        if self.server.read_only:
            return self._answer(403)
        path, _, query = self.path.partition("?")
        if self.command == "POST":
            self.server.uploads += 1
            return self._answer(202, Location=f"{path}{self.server.uploads}")
        if found := re.fullmatch(r"/v2/(.+)/manifests/(.+)", path):
            digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
            self.server.manifests |= {(found[1], found[2]): body, (found[1], digest): body}
            return self._answer(201, Docker_Content_Digest=digest)
        pending = self.server.blobs.pop(path, b"") + body
        if self.command == "PATCH":
            self.server.blobs[path] = pending
            return self._answer(202, Location=path, Range=f"0-{len(pending) - 1}")
        stated = re.search(r"digest=sha256(?::|%3A)(\w+)", query)
        assert stated is not None
        assert hashlib.sha256(pending).hexdigest() == stated[1]
        self.server.blobs[f"sha256:{stated[1]}"] = pending
        return self._answer(201, Location=f"/blobs/{stated[1]}")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    do_GET = do_HEAD = _get  # noqa: N815 - names the base class looks for
    do_POST = do_PUT = do_PATCH = _store  # noqa: N815  # names http.server asks for


@contextmanager
def running(
    *, showing: Registry | None = None, pair: tls.Pair | None = None, directory: Path = Path()
) -> Iterator[Registry]:
    """Give a registry that serves until the end of the block: its own, or what ``showing`` has, to be read only.

    It shows the certificate of ``pair``, which is written to ``directory``; without one it speaks plain HTTP.
    """
    registry = Registry()
    if showing is not None:
        registry.read_only = True
        registry.blobs, registry.manifests, registry.kinds = showing.blobs, showing.manifests, showing.kinds
    if pair:
        pair.shown_by(registry, directory)
    with tls.serving(registry):
        yield registry
