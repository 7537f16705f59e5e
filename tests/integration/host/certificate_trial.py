"""Replaces the certificate that HAProxy serves, beside a client that does not stop; prints what was seen as JSON.

Usage: certificate_trial.py DIRECTORY PAIRS RELOAD...     in the network of the HAProxy, whose files are below DIRECTORY
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base import files
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._edge import admin, verify
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate import places

VIP, NAME = "10.9.0.2", "identity.cloud.test"
HOST = Path(sys.argv[1])
PAIRS = Path(sys.argv[2])  # <name>.pem, certificate and key; root.pem, their CA
TRUST = ssl.create_default_context(cafile=str(PAIRS / "root.pem"))


def client() -> http.client.HTTPConnection:
    """Return a connection to the public name."""
    found = http.client.HTTPConnection(NAME)
    raw = socket.create_connection((VIP, 443), timeout=20)
    found.sock = TRUST.wrap_socket(raw, server_hostname=NAME)
    return found


def ask(connection: http.client.HTTPConnection) -> int:
    """Return the status of an answer."""
    connection.request("GET", "/nowhere", headers={"Host": "unknown.cloud.test"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def verified(name: str) -> str:
    """Return what verification says when the certificate ``name`` is wanted; "": one of the site's CA."""
    wanted: dict[str, Any] = {
        "virtual_ip": VIP, "ports": [443], "names": [NAME], "timeout": 10,
        "certificate": (PAIRS / name).read_text() if name else "",
        "public_ip": "", "public_names": [],
    }  # fmt: skip
    try:
        verify.verify(Changes(check=False), wanted)
    except GroundupError as error:
        return f"{error.what}: {error.where}"
    return "sound"


def seen_by_rotation() -> dict[str, bool]:
    """Return which of the site's servers the rotation of CAs gets an answer of."""
    edge = SimpleNamespace(
        endpoints=[NAME], certificate="", kind="haproxy", address=VIP, hosts=("control-1", "control-2")
    )
    plan: Any = SimpleNamespace(
        edge=edge, supply=SimpleNamespace(seed=""), ceph=None,
        hosts={name: SimpleNamespace(address=f"10.9.0.1{name[-1]}") for name in edge.hosts},
    )  # fmt: skip
    return {name: leaf is not None for name, leaf in places.served(plan)}


def main() -> None:
    """Try it."""
    os.environ["SSL_CERT_FILE"] = str(PAIRS / "root.pem")  # as a host that trusts the company's CA
    files.read = lambda path: (HOST / str(path).lstrip("/")).read_text()  # as the host does
    admin.ADMIN_SOCKET = str(HOST / "run/haproxy/admin.sock")
    verify.carrying = lambda _: None  # type: ignore[attr-defined,assignment]  # no address is asked for
    found: dict[str, Any] = {"first": verified("one.pem"), "another": verified("two.pem"), "own": verified("")}
    found["servers"] = seen_by_rotation()
    lasting, failed, asked = client(), [], []
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            try:
                asked.append(ask(client()))
            except OSError as error:
                failed.append(str(error))
            time.sleep(0.01)

    found["before"] = ask(lasting)
    others = threading.Thread(target=go_on, daemon=True)
    others.start()
    (HOST / "etc/haproxy/tls/edge.pem").write_bytes((PAIRS / "two.pem").read_bytes())
    found["not loaded"] = verified("two.pem")
    found["own, not loaded"] = verified("")
    lasting.sock.sendall(b"GET /nowhere HTTP/1.1\r\nHost: unknown.cloud.test\r\n")  # a request, not its end yet
    subprocess.run(sys.argv[3:], check=True)
    end = time.monotonic() + 30
    while verified("two.pem") != "sound" and time.monotonic() < end:
        time.sleep(0.2)
    lasting.sock.sendall(b"Connection: close\r\n\r\n")
    found["after"] = [int(lasting.sock.recv(4096).split()[1]), verified("two.pem")]
    over.set()
    others.join()
    found |= {"asked": len(asked), "answers": sorted(set(asked)), "failed": failed}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
