"""What the seed learns of a management controller: whose it is, by the machine that it manages."""

from __future__ import annotations

import base64
import json
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from ansible_collections.groundup.cloud.tests.unit.metal.test_contact import Seed, seed

__all__ = ["seed"]


class Controller(BaseHTTPRequestHandler):
    """A management controller with one port, and garbage for another user."""

    PLACES: ClassVar[dict[str, Any]] = {
        "/redfish/v1/Systems": {"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]},
        "/redfish/v1/Systems/1": {"SerialNumber": "S1", "EthernetInterfaces": {"@odata.id": "/redfish/v1/Systems/1/E"}},
        "/redfish/v1/Systems/1/E": {"Members": [{"@odata.id": "/redfish/v1/Systems/1/E/1"}]},
        "/redfish/v1/Systems/1/E/1": {"MACAddress": "52:54:00:00:00:0A"},
    }

    def do_GET(self) -> None:
        known = self.headers["Authorization"] == "Basic " + base64.b64encode(b"admin:p").decode()
        elsewhere = {"Members": [{"@odata.id": "@127.0.0.9/"}]}
        body = json.dumps(self.PLACES[self.path] if known else elsewhere).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        """Say nothing."""


def test_a_controller_tells_whose_it_is_to_those_who_know_the_password(
    seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HTTPServer(("127.0.0.1", 0), Controller) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        opened = urllib.request.Request
        monkeypatch.setattr(
            urllib.request,
            "Request",
            lambda url, **more: opened(
                url.replace("https://127.0.0.1", f"http://127.0.0.1:{server.server_port}"), **more
            ),
        )
        ask = {"address": "127.0.0.1", "user": "admin", "password": "p"}
        told = seed.ask("POST", "/v1/controllers", ask)
        assert told == (200, {"serial": "S1", "sku": "", "macs": ["52:54:00:00:00:0a"]})
        assert seed.ask("POST", "/v1/controllers", ask, login="")[0] == 401
        assert seed.ask("POST", "/v1/controllers", {**ask, "user": "other"})[0] == 502, (
            "a place that is none of Redfish"
        )
        assert seed.ask("POST", "/v1/controllers", {**ask, "address": "127.0.0.1@example.org"})[0] == 502
        server.shutdown()


HGX, REAL = "/redfish/v1/Systems/HGX_Baseboard_0", "/redfish/v1/Systems/System_0"
WHOLE: dict[str, Any] = {
    "SerialNumber": "S1", "EthernetInterfaces": {"@odata.id": f"{REAL}/E"}, "PowerState": "On",
    "Bios": {"@odata.id": f"{REAL}/Bios"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("systems", "given", "told"),
    [
        ({HGX: {"SerialNumber": None, "PowerState": "On"}, REAL: WHOLE}, {}, {"serial": "S1", "system": REAL}),
        ({HGX: {"SerialNumber": "G1"}, REAL: {**WHOLE, "SKU": "TAG1"}}, {}, {"serial": "S1", "sku": "TAG1"}),
        ({HGX: WHOLE, REAL: {**WHOLE, "SKU": "TAG 1"}}, {"serial": "tag1"}, {"system": REAL}),
        ({HGX: WHOLE, REAL: WHOLE}, {"system": "System_0"}, {"system": REAL}),
        ({REAL: WHOLE, HGX: {"SerialNumber": "G1", "PowerState": "On"}}, {}, {"serial": "S1", "system": REAL}),
        ({HGX: None, REAL: WHOLE}, {"system": f"{REAL}/"}, {"serial": "S1", "system": REAL}),
        ({HGX: WHOLE, REAL: WHOLE}, {"system": REAL}, {"system": REAL}),
        ({HGX: WHOLE, REAL: WHOLE}, {}, {"several": [HGX, REAL], "serial": "", "macs": []}),
    ],
    ids=["whole", "sku", "serial", "id", "other order", "only the named one answers", "path", "unclear"],
)
def test_of_several_systems_of_a_controller_the_machine_is_told_of_or_none(
    seed: Seed, monkeypatch: pytest.MonkeyPatch, systems: dict[str, Any], given: dict[str, str], told: dict[str, Any]
) -> None:
    places = {
        "/redfish/v1/Systems": {"Members": [{"@odata.id": place} for place in systems]},
        f"{REAL}/E": {"Members": [{"@odata.id": f"{REAL}/E/{port}"} for port in ("1", "2", "ToManager", "4")]},
        f"{REAL}/E/1": {"MACAddress": "52-54-00-00-00-0A", "PermanentMACAddress": "5254.0000.000b"},
        f"{REAL}/E/2": {"MACAddress": None},
        f"{REAL}/E/ToManager": {"Id": "ToManager", "MACAddress": "BE:3A:F2:B6:05:9F"},
        f"{REAL}/E/4": {
            "Id": "4",
            "UefiDevicePath": "PciRoot(0x0)/Pci(0x14,0x0)/USB(0xD,0x0)",
            "MACAddress": "BE:3A:F2:B6:05:9E",
        },
    }
    monkeypatch.setattr(Controller, "PLACES", {**places, **systems})
    with HTTPServer(("127.0.0.1", 0), Controller) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        opened = urllib.request.Request
        here = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(
            urllib.request, "Request", lambda url, **more: opened(url.replace("https://127.0.0.1", here), **more)
        )
        ask = {"address": "127.0.0.1", "user": "admin", "password": "p"}
        status, answer = seed.ask("POST", "/v1/controllers", {**ask, **given})
        assert seed.ask("POST", "/v1/controllers", {**ask, "system": "Other"})[0] == 502
        server.shutdown()
    assert status == 200
    assert answer == {**answer, **told}
    assert answer["macs"] == ([] if "several" in told else ["52:54:00:00:00:0a", "52:54:00:00:00:0b"])
