"""An application of 24 MB behind uWSGI, and clients that pause; the second prints what they got.

Usage: slow.py     as a module of uWSGI: application
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any

SIZE = 24 << 20
PAUSE = 6.0  # seconds; uWSGI's own patience is 4
NAME = "image.cloud.test"


def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """Send much, or say how much was sent; a broken upload is an error."""
    sent = 0
    while environ["REQUEST_METHOD"] == "PUT" and (piece := environ["wsgi.input"].read(65536)):
        sent += len(piece)
    body = str(sent).encode() if environ["REQUEST_METHOD"] == "PUT" else b""
    large = environ["PATH_INFO"] == "/large"
    start("200 OK", [("Content-Length", str(SIZE if large else len(body)))])
    return [bytes(65536)] * (SIZE // 65536) if large else [body]


def connect() -> http.client.HTTPSConnection:
    """Connect to the edge, with small buffers: what a client does not read its server cannot send."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    raw.settimeout(120)
    raw.connect(("10.9.0.2", 443))
    client = http.client.HTTPSConnection(NAME)
    client.sock = context.wrap_socket(raw, server_hostname=NAME)
    return client


def main() -> None:
    """Read and send with a pause; others are served meanwhile."""
    for _ in range(600):
        try:
            client = connect()
            client.request("GET", "/")
            if client.getresponse().status == 200:
                break
        except OSError:
            pass
        time.sleep(0.2)
    reader, writer = connect(), connect()
    reader.request("GET", "/large")
    answer = reader.getresponse()
    first = len(answer.read(1 << 20))
    writer.putrequest("PUT", "/")
    writer.putheader("Content-Length", str(SIZE))
    writer.endheaders()
    writer.send(bytes(SIZE // 2))
    other = connect()
    other.request("GET", "/")
    meanwhile = other.getresponse().status
    time.sleep(PAUSE)
    try:
        read = first + len(answer.read())
    except http.client.IncompleteRead as error:
        read = first + len(error.partial)
    try:
        writer.send(bytes(SIZE // 2))
        kept = writer.getresponse().read().decode()
    except OSError as error:
        kept = str(error)
    print(json.dumps({"read": read, "kept": kept, "meanwhile": meanwhile}))


if __name__ == "__main__":
    main()
