"""Programs come from the site's file server directly, whatever proxy the host's environment names."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host.downloads import published_digest

DIGEST = "0" * 64


class _Files(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{DIGEST}  kubelet\n".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def files() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Files) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_proxy_of_the_host_is_not_asked(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert published_digest(f"{files}/kubelet") == DIGEST
