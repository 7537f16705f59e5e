"""Who hears installed machines: a token is good once, and nothing else is heard."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

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
