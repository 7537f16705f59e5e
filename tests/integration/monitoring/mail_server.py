"""A mail server that takes logins by TLS alone. Usage: mail_server.py PORT FILE CERTIFICATE; FILE: what it hears."""

from __future__ import annotations

import base64
import socketserver
import ssl
import sys
from pathlib import Path
from typing import Any

HEARD = Path(sys.argv[2])
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
TLS.load_cert_chain(sys.argv[3])


def keep(text: bytes) -> None:
    """Append to the file."""
    with HEARD.open("ab") as heard:
        heard.write(text)


class MailServer(socketserver.BaseRequestHandler):
    """Answers SMTP."""

    secure = False

    def handle(self) -> None:
        """Serve one connection."""
        connection = self.request
        stream: Any = connection.makefile("rwb")

        def say(line: str) -> None:
            stream.write(f"{line}\r\n".encode())
            stream.flush()

        say("220 ready")
        while line := stream.readline().strip():
            word, _, rest = line.partition(b" ")
            if word == b"EHLO":
                say("250-here")
                say("250 AUTH PLAIN" if self.secure else "250 STARTTLS")
            elif word == b"STARTTLS":
                say("220 begin")
                connection, self.secure = TLS.wrap_socket(connection, server_side=True), True
                stream = connection.makefile("rwb")
            elif word == b"AUTH":
                keep(base64.b64decode(rest.split()[1]).replace(b"\0", b" ") + b"\n")
                say("235 welcome")
            elif word == b"DATA":
                say("354 go on")
                while (text := stream.readline()) != b".\r\n":
                    keep(text)
                say("250 taken")
            elif word == b"QUIT":
                say("221 bye")
                return
            else:
                say("250 well")


socketserver.TCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), MailServer).serve_forever()
