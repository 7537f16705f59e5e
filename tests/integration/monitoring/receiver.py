"""A receiver of alerts: appends what is posted to it, one line each. Usage: receiver.py PORT FILE."""

from __future__ import annotations

import http.server
import sys
from pathlib import Path

HEARD = Path(sys.argv[2])


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers POST."""

    def do_POST(self) -> None:
        """Keep the body."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with HEARD.open("ab") as heard:
            heard.write(body.replace(b"\n", b" ") + b"\n")
        self.send_response(200)
        self.end_headers()


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
