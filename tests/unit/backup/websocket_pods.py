"""A kubelet's exec behind an API server's WebSocket, on loopback: the program runs on this machine."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455


class _Exec(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()

    def do_GET(self) -> None:
        if "/namespaces/refused/" in self.path:
            self.send_error(403)
            return
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + _GUID).encode(), usedforsecurity=False).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.send_header("Sec-WebSocket-Protocol", "v4.channel.k8s.io")
        self.end_headers()
        command = parse_qs(urlsplit(self.path).query)["command"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            threading.Thread(target=self._feed, args=(process.stdin,), daemon=True).start()
            says = [threading.Thread(target=self._say, args=(number, stream))
                    for number, stream in ((1, process.stdout), (2, process.stderr))]  # fmt: skip
            for one in says:
                one.start()
            for one in says:
                one.join()
            code = process.wait()
        if code == 99:  # the connection is lost instead of an end
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        causes = {"status": "Failure", "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}
        self._send(3, json.dumps({"status": "Success"} if code == 0 else causes).encode())
        self._frame(8, struct.pack(">H", 1000))
        self.close_connection = True

    def _say(self, channel: int, stream: Any) -> None:
        while data := stream.read1(1 << 15):
            self._send(channel, data)

    def _send(self, channel: int, data: bytes) -> None:
        self._frame(2, bytes([channel]) + data)

    def _frame(self, code: int, data: bytes) -> None:
        size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data))
        with self.lock, suppress(OSError):
            self.wfile.write(bytes([0x80 | code]) + size + data)
            self.wfile.flush()

    def _feed(self, stdin: Any) -> None:
        with suppress(OSError, struct.error, ValueError):
            while True:
                _, size = self.rfile.read(2)
                size &= 0x7F
                size = struct.unpack(">H", self.rfile.read(2))[0] if size == 126 else size
                size = struct.unpack(">Q", self.rfile.read(8))[0] if size == 127 else size
                mask, data = self.rfile.read(4), self.rfile.read(size)
                whole = int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
                plain = whole.to_bytes(size, "big")
                if plain[:1] == b"\0":
                    with suppress(OSError):  # an ended program takes nothing; who sends is heard out
                        stdin.write(plain[1:])
                        stdin.flush()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def kubeconfig(directory: Path) -> Iterator[Path]:
    """Yield the kubeconfig of an API server that has every pod."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Exec) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        path = directory / "kubeconfig"
        path.write_text(
            yaml.safe_dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "test",
                "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                "users": [{"name": "test", "user": {"token": "x"}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            })
        )  # fmt: skip
        try:
            yield path
        finally:
            server.shutdown()
            thread.join()
