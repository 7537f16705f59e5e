"""What a server answers until it closes: short, in time, and no more. http.client takes longer to import than ssl."""

from __future__ import annotations

import socket
import time

LIMIT = 8 << 20  # bytes of it


def whole(connection: socket.socket, question: bytes, *, end: float) -> str:
    """Return what is answered to ``question`` before ``end`` (monotonic). Raises OSError."""
    connection.sendall(question)
    said = b""
    while len(said) < LIMIT and (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        if not (piece := connection.recv(1 << 16)):
            return said.decode(errors="replace")
        said += piece
    raise TimeoutError(f"no end after {len(said)} bytes")


def page(connection: socket.socket, path: str, *, host: str, end: float) -> str:
    """Return what ``host`` answers to GET ``path`` by HTTP before ``end``. Raises OSError, also when it refuses."""
    request = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json, */*\r\n\r\n"
    head, _, body = whole(connection, request.encode(), end=end).partition("\r\n\r\n")
    if head.split(None, 2)[1:2] != ["200"]:
        raise ConnectionError(f"{host}{path}: {head[:80]!r}")
    return body
