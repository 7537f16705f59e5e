"""Who hears installed machines: a token is good once, and nothing else is heard."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

PROGRAM = COLLECTION / "roles/ironic/files/groundup-contact"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAA"
ADMIN = "Basic " + base64.b64encode(b"groundup:p").decode()
RUNNER = "Basic " + base64.b64encode(b"runner:p").decode()


class Seed:
    """The application, asked without a server."""

    def __init__(self, state: Path) -> None:
        program = ModuleType("contact")
        exec(compile(PROGRAM.read_text(), PROGRAM, "exec"), program.__dict__)  # noqa: S102  # a program of ours
        self.application = program.Contact(
            state, lambda user, given: user in ("groundup", "runner") and given == "p", program._controller
        )

    def ask(self, method: str, path: str, body: Any = None, *, login: str = ADMIN) -> tuple[int, dict[str, Any]]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        said: list[str] = []
        environ = {
            "REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_LENGTH": str(len(raw)), "wsgi.input": io.BytesIO(raw),
            "HTTP_AUTHORIZATION": login,
        }  # fmt: skip
        answer = b"".join(self.application(environ, lambda status, _headers: said.append(status)))
        return int(said[0].split()[0]), json.loads(answer)


@pytest.fixture
def seed(tmp_path: Path) -> Seed:
    found = Seed(tmp_path / "machines")
    assert found.ask("PUT", "/v1/machines/worker-1", {"sha256": hashlib.sha256(b"token").hexdigest()})[0] == 200
    return found


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


def call(seed: Seed, **changed: Any) -> int:
    body = {"name": "worker-1", "token": "token", "host_keys": [KEY], **changed}
    return seed.ask("POST", "/v1/phone-home", body, login="")[0]


def test_a_machine_is_heard_once_and_its_keys_are_known_then(seed: Seed) -> None:
    assert "called" not in seed.ask("GET", "/v1/machines/worker-1")[1]
    assert call(seed) == 200
    known = seed.ask("GET", "/v1/machines/worker-1")[1]
    assert known["host_keys"] == [KEY]
    assert not {"sha256", "heard"} & set(known)
    assert call(seed, host_keys=[KEY + "x"]) == 403, "replayed"
    assert seed.ask("GET", "/v1/machines/worker-1")[1] == known


def test_a_machine_whose_answer_was_lost_is_answered_alike_and_nothing_changes(seed: Seed, tmp_path: Path) -> None:
    assert call(seed) == 200
    record = (tmp_path / "machines/worker-1.json").read_bytes()
    seed.ask("PUT", "/v1/machines/worker-1/again", {})
    begun = (tmp_path / "machines/worker-1.json").read_bytes()
    assert begun != record
    assert call(Seed(tmp_path / "machines")) == 200, "also by a seed that started again"
    assert (tmp_path / "machines/worker-1.json").read_bytes() == begun
    assert call(seed, token="other") == call(seed, host_keys=[]) == 403
    seed.ask("PUT", "/v1/machines/worker-1", {"sha256": "0" * 64})
    assert call(seed) == 403, "it is expected anew, by another token"


def test_the_calls_of_all_machines_are_one_answer_without_any_digest(seed: Seed) -> None:
    seed.ask("PUT", "/v1/machines/worker-2", {"sha256": "0" * 64})
    call(seed)
    status, known = seed.ask("GET", "/v1/machines")
    assert (status, sorted(known)) == (200, ["worker-1", "worker-2"])
    assert known["worker-1"]["host_keys"] == [KEY]
    assert "sha256" not in json.dumps(known)
    assert seed.ask("GET", "/v1/machines", login="")[0] == 401


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"token": "other"}, 403),
        ({"token": ""}, 403),
        ({"token": None}, 403),
        ({"name": "worker-2"}, 403),
        ({"name": "../../etc/passwd"}, 403),
        ({"host_keys": []}, 400),
        ({"host_keys": ["ssh-ed25519 AAAA\n@cert-authority * ssh-rsa BBBB"]}, 400),
        ({"host_keys": "x" * 70000}, 413),
        ({"token": "\ud800"}, 403),
    ],
)
def test_a_forged_call_is_refused_and_the_true_one_is_still_heard(
    seed: Seed, changed: dict[str, Any], status: int
) -> None:
    assert call(seed, **changed) == status
    assert call(seed) == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "login", "status"),
    [
        ("PUT", "/v1/machines/worker-1", {"sha256": "0" * 64}, "", 401),
        ("GET", "/v1/machines/worker-1", None, "Basic !!", 401),
        ("PUT", "/v1/machines/../x", {"sha256": "0" * 64}, ADMIN, 404),
        ("PUT", "/v1/machines/worker-1", {"sha256": "short"}, ADMIN, 400),
        ("PUT", "/v1/machines/worker-1", b"{", ADMIN, 400),
        ("POST", "/v1/phone-home", b"[" * 60000, "", 400),
        ("GET", "/v1/machines/worker-9", None, ADMIN, 404),
        ("DELETE", "/v1/machines/worker-1", None, ADMIN, 404),
    ],
)
def test_who_may_ask_what(  # noqa: PLR0917  # one argument a column
    seed: Seed, method: str, path: str, body: Any, login: str, status: int
) -> None:
    assert seed.ask(method, path, body, login=login)[0] == status


def test_what_was_done_with_a_machine_is_kept_with_its_call_and_forgotten_with_it(seed: Seed) -> None:
    order = {"sha256": hashlib.sha256(b"token").hexdigest(), "layers": ["host"]}
    assert seed.ask("PUT", "/v1/machines/worker-1", order)[0] == 200
    way = "/v1/machines/worker-1/way"
    assert seed.ask("PUT", way, {"called": 0, "way": []}, login=RUNNER)[0] == 409, "it has not called"
    assert call(seed) == 200
    told = seed.ask("GET", "/v1/machines", login=RUNNER)[1]["worker-1"]
    assert told["layers"] == ["host"]
    lines = [{"state": "serving", "time": 1.0}]
    assert seed.ask("PUT", way, {"called": told["called"], "way": lines}, login=RUNNER)[1]["way"] == lines
    assert seed.ask("PUT", way, {"called": 1.0, "way": []}, login=RUNNER)[0] == 409, "that was an earlier call"
    assert "again" in seed.ask("PUT", "/v1/machines/worker-1/again", {})[1]
    assert seed.ask("GET", "/v1/machines/worker-1")[1]["way"] == lines
    assert set(seed.ask("PUT", "/v1/machines/worker-1", order)[1]) == {"expected", "layers"}


@pytest.mark.parametrize(
    ("layers", "lines"),
    [
        ([], [{"state": "serving", "time": 1.0}]),
        (["host"], [{"state": "retired", "time": 1.0}]),
        (["host"], [{"state": "serving", "time": "now"}]),
        (["host"], ["serving"]),
    ],
)
def test_the_runner_tells_of_its_own_machines_alone_and_retires_none(seed: Seed, layers: Any, lines: Any) -> None:
    order = {"sha256": hashlib.sha256(b"token").hexdigest(), "layers": layers}
    assert seed.ask("PUT", "/v1/machines/worker-1", order)[0] == 200
    assert call(seed) == 200
    told = seed.ask("GET", "/v1/machines/worker-1")
    way = {"called": told[1]["called"], "way": lines}
    assert seed.ask("PUT", "/v1/machines/worker-1/way", way, login=RUNNER)[0] == 400
    assert seed.ask("GET", "/v1/machines/worker-1") == told, "controllers take it into their journals"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/v1/machines/worker-1"),
        ("PUT", "/v1/machines/worker-1/again"),
        ("POST", "/v1/controllers"),
    ],
)
def test_the_runner_expects_nobody_and_asks_no_controller(seed: Seed, method: str, path: str) -> None:
    before = seed.ask("GET", "/v1/machines/worker-1")
    assert seed.ask(method, path, {"sha256": "0" * 64}, login=RUNNER)[0] == 403
    assert seed.ask("GET", "/v1/machines/worker-1") == before


def test_a_place_that_is_none_and_layers_that_are_no_names_are_refused(seed: Seed) -> None:
    assert seed.ask("GET", "/v1/machines/worker-1/way")[0] == 404
    assert seed.ask("PUT", "/v1/machines/worker-1/other", {})[0] == 404
    for layers in ("host", [""], ["../x"], [1]):
        assert seed.ask("PUT", "/v1/machines/worker-1", {"sha256": "0" * 64, "layers": layers})[0] == 400
    assert call(seed) == 200


def test_each_file_of_passwords_is_good_for_its_own_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def check(given: bytes, kept: bytes) -> bool:
        if b"\0" in given:
            raise ValueError("no NUL bytes")  # as the library does
        return given == kept

    monkeypatch.setitem(sys.modules, "bcrypt", SimpleNamespace(checkpw=check))
    program = ModuleType("contact")
    exec(compile(PROGRAM.read_text(), PROGRAM, "exec"), program.__dict__)  # noqa: S102  # a program of ours
    ironic, runner = tmp_path / "ironic", tmp_path / "runner"
    ironic.write_text("groundup:a\nrunner:a\n")
    right = program.passwords(ironic, runner)
    assert (right("groundup", "a"), right("runner", "a")) == (True, False), "the runner has no file yet"
    assert not right("groundup", "a\0")
    runner.write_text("runner:b\ngroundup:b\n")
    assert (right("runner", "b"), right("groundup", "b"), right("runner", "a")) == (True, False, False)
