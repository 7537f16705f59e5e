"""Management controllers as they speak: HTTPS with a certificate of their own, a login, and a tree of resources."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.tests.unit.certificates import issue

USER, PASSWORD = "admin", "calvin"
ROOT = "/redfish/v1"
OK, ABSENT = {"State": "Enabled", "Health": "OK"}, {"State": "Absent"}
CRITICAL = {"State": "Enabled", "Health": "Critical"}
Tree = dict[str, dict[str, Any]]


def _links(*paths: str) -> dict[str, Any]:
    return {"Members": [{"@odata.id": path} for path in paths]}


def _to(path: str) -> dict[str, str]:
    return {"@odata.id": path}


def classic(*, supply: Mapping[str, str] = OK, fan: Mapping[str, str] = OK, celsius: float = 61) -> Tree:
    """Return a machine of Power and Thermal, in the shape of DMTF's public rack server."""
    chassis = f"{ROOT}/Chassis/1U"
    degrees = {"Name": "CPU1 Temp", "Status": OK, "ReadingCelsius": celsius, "UpperThresholdCritical": 90}
    return {
        f"{ROOT}/Chassis": _links(chassis),
        chassis: {"Id": "1U", "Power": _to(f"{chassis}/Power"), "Thermal": _to(f"{chassis}/Thermal")},
        f"{chassis}/Power": {
            "PowerSupplies": [
                {"MemberId": "0", "Name": "Power Supply Bay", "Status": supply},
                {"MemberId": "1", "Name": "Power Supply Bay", "Status": OK},
                {"MemberId": "2", "Name": "Power Supply Bay", "Status": ABSENT},
            ],
            "Redundancy": [{"Name": "PowerSupply Redundancy Group 1", "Status": supply}],
        },
        f"{chassis}/Thermal": {
            "Fans": [{"MemberId": "0", "FanName": "BaseBoard System Fan", "Status": fan, "Reading": 2100}],
            "Temperatures": [
                degrees,
                {"Name": "Inlet", "Status": {"State": "Enabled", "Health": None}, "ReadingCelsius": 22,
                 "UpperThresholdCritical": 0},
                {"Name": "CPU2 Temp", "Status": ABSENT, "ReadingCelsius": None},
            ],
        },
    }  # fmt: skip


def newer(*, supply: Mapping[str, str] = OK, fan: Mapping[str, str] = OK, celsius: float = 44) -> Tree:
    """Return the same of PowerSubsystem and ThermalSubsystem, each part a resource of its own."""
    chassis = f"{ROOT}/Chassis/Bmc"
    power, thermal = f"{chassis}/PowerSubsystem", f"{chassis}/ThermalSubsystem"
    bay, fans, sensor = f"{power}/PowerSupplies", f"{thermal}/Fans", f"{chassis}/Sensors/CPU1Temp"
    return {
        f"{ROOT}/Chassis": _links(chassis, f"{ROOT}/Chassis/Neighbour"),
        chassis: {"Id": "Bmc", "PowerSubsystem": _to(power), "ThermalSubsystem": _to(thermal)},
        power: {
            "PowerSupplies": _to(bay),
            "PowerSupplyRedundancy": [{"RedundancyType": "NPlusM", "Status": supply}],
        },
        bay: _links(f"{bay}/Bay1", f"{bay}/Bay2"),
        f"{bay}/Bay1": {"Name": "Power Supply Bay 1", "Status": supply},
        f"{bay}/Bay2": {"Name": "Power Supply Bay 2", "Status": OK},
        thermal: {"Fans": _to(fans), "ThermalMetrics": _to(f"{thermal}/ThermalMetrics")},
        fans: _links(f"{fans}/CPU1", "http://elsewhere/redfish/v1/", f"{fans}/gone"),
        f"{fans}/CPU1": {"Name": "CPU1 Fan", "Status": fan},
        f"{fans}/gone": {"Status": ABSENT},
        f"{thermal}/ThermalMetrics": {
            "TemperatureReadingsCelsius": [
                {"DeviceName": "CPU #1", "Reading": celsius, "DataSourceUri": sensor},
                {"DeviceName": "Intake", "Reading": 24.8},
            ]
        },
        sensor: {"Status": OK, "Thresholds": {"UpperCritical": {"Reading": 90}, "UpperCaution": {"Reading": 80}}},
    }


class _Handler(http.server.BaseHTTPRequestHandler):
    """Tells the tree of its server to whoever has the login."""

    tree: Tree
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        found = self.tree.get(self.path.rstrip("/"))
        status = 401 if self.headers.get("Authorization") != f"Basic {login}" else 200 if found is not None else 404
        body = json.dumps(found if status == 200 else {"error": {}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def controller(tree: Tree, home: Path) -> Iterator[str]:
    """Serve a tree and yield the address of its controller. What is changed in ``tree`` is told next."""
    own = issue("controller")
    (home / "controller.pem").write_text(own.pem + own.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(home / "controller.pem")
    handler = type("Handler", (_Handler,), {"tree": tree})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
