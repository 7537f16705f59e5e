"""Management controllers that misbehave, and one that is a vendor's: Redfish as far as Ironic asks for it at first."""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

Kind = Literal["good", "garbage", "half", "refuses", "hangs", "drips", "endless", "deep"]
MOST = 3 * 2**30  # bytes of an endless answer: a machine that runs this test outlives it
ROOT = "/redfish/v1"
SYSTEM = f"{ROOT}/Systems/1"
MANAGER = f"{ROOT}/Managers/1"


def _collection(*paths: str) -> dict[str, Any]:
    return {"Name": "c", "Members": [{"@odata.id": path} for path in paths], "Members@odata.count": len(paths)}


def pages(vendor: str) -> dict[str, dict[str, Any]]:
    """Return what a good controller of ``vendor`` answers, by path."""
    reset = {"target": f"{SYSTEM}/Actions/Reset", "ResetType@Redfish.AllowableValues": ["On", "ForceOff"]}
    system = {
        "@odata.id": SYSTEM, "Id": "1", "Name": "s", "UUID": "6f7c2f0a-6d1b-4c57-9d0a-000000000009",
        "Manufacturer": vendor, "Model": "R760", "SerialNumber": "S1", "PowerState": "Off",
        "Boot": {
            "BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideMode": "UEFI",
            "BootSourceOverrideTarget": "None",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["Cd", "Hdd", "Pxe"],
        },
        "Actions": {"#ComputerSystem.Reset": reset},
        "Links": {"ManagedBy": [{"@odata.id": MANAGER}]},
    }  # fmt: skip
    return {
        ROOT: {
            "Id": "r", "Name": "r", "RedfishVersion": "1.6.0", "UUID": "6f7c2f0a-6d1b-4c57-9d0a-00000000000a",
            "Systems": {"@odata.id": f"{ROOT}/Systems"}, "Managers": {"@odata.id": f"{ROOT}/Managers"},
        },
        f"{ROOT}/Systems": _collection(SYSTEM),
        f"{ROOT}/Managers": _collection(MANAGER),
        SYSTEM: system,
        MANAGER: {"@odata.id": MANAGER, "Id": "1", "Name": "m", "ManagerType": "BMC", "Model": "m"},
    }  # fmt: skip


class Controller(ThreadingHTTPServer):
    """One that ends with its answers."""

    daemon_threads = True
    ended: threading.Event

    def shutdown(self) -> None:
        """End, also answers that have no end."""
        self.ended.set()
        super().shutdown()
        self.server_close()


def serve(kind: Kind, *, port: int, pem: Path, vendor: str = "") -> Controller:
    """Start a controller on every address of this network namespace."""
    answers = pages(vendor)
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes: the second waited 40 ms for an acknowledgement

        def do_GET(self) -> None:
            if kind == "hangs":
                ended.wait()
            known = answers.get(self.path.rstrip("/"))
            status = 401 if kind == "refuses" else 200 if known else 404
            body = b"\x00\xff<html>{" * 1000 if kind == "garbage" else json.dumps(known or {}).encode()
            if kind == "deep":
                status, body = 200, b"[" * 10**6
            if kind in ("drips", "endless"):
                self._goes_on()
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) * (2 if kind == "half" else 1)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = kind == "half"

        def _goes_on(self) -> None:
            """Answer without an end: a byte now and then, or as many as are taken."""
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.close_connection = True
            sent, part = 0, b" " * (1 if kind == "drips" else 2**20)
            try:
                while sent < MOST and not ended.wait(0.2 if kind == "drips" else 0):
                    sent += self.connection.send(part)
            except OSError:
                return

        def log_message(self, *_: Any) -> None:
            pass

    server = Controller(("", port), Handler)
    server.ended = ended
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
