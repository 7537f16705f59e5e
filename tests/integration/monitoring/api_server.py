"""An API server's metrics, for one token alone. Usage: api_server.py PORT CERTIFICATE TOKEN_FILE."""

from __future__ import annotations

import http.server
import ssl
import sys
from pathlib import Path

TOKEN = Path(sys.argv[3]).read_text().strip()


class ApiServer(http.server.BaseHTTPRequestHandler):
    """Answers GET."""

    def do_GET(self) -> None:
        """Tell a metric to whoever has the token."""
        known = self.headers["Authorization"] == f"Bearer {TOKEN}" and self.path == "/metrics"
        self.send_response(200 if known else 401)
        self.end_headers()
        if known:
            self.wfile.write(b"process_start_time_seconds 1\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


server = http.server.ThreadingHTTPServer(("", int(sys.argv[1])), ApiServer)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
