"""What a server answers, in time and no more. http.client takes longer to import than ssl."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from pathlib import Path

from .samples import PATIENCE

LIMIT = 8 << 20  # bytes of it
LOOPBACK = "127.0.0.1"
_CONNECTED = 0.5  # seconds until there is a connection: the kernel makes it, whatever the server does


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


def begun(place: Path, question: bytes) -> bool:
    """Return whether anything is answered to ``question`` at the socket ``place``."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(place))
            connection.sendall(question)
            return bool(connection.recv(1))
    except OSError:
        return False


def begun_at(ports: Mapping[str, int], question: bytes) -> dict[str, bool]:
    """Return by name whether anything is answered to ``question`` at its port of the loopback address.

    All are asked before the first is waited for: those that hang share the time.
    """
    end = time.monotonic() + PATIENCE
    opened: dict[str, socket.socket] = {}
    for name, port in ports.items():
        try:
            opened[name] = socket.create_connection((LOOPBACK, port), timeout=_CONNECTED)
            opened[name].sendall(question)
        except OSError:  # nobody listens, or nobody has taken a connection for long
            continue
    return {name: name in opened and _begins(opened[name], end=end) for name in ports}


def _begins(connection: socket.socket, *, end: float) -> bool:
    with connection:
        connection.settimeout(max(end - time.monotonic(), 0.1))
        try:
            return bool(connection.recv(1 << 16))
        except OSError:
            return False


def page(connection: socket.socket, path: str, *, host: str, end: float) -> str:
    """Return what ``host`` answers to GET ``path`` by HTTP before ``end``. Raises OSError, also when it refuses."""
    request = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json, */*\r\n\r\n"
    head, _, body = whole(connection, request.encode(), end=end).partition("\r\n\r\n")
    if head.split(None, 2)[1:2] != ["200"]:
        raise ConnectionError(f"{host}{path}: {head[:80]!r}")
    return body
