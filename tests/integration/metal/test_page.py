"""The page of machines on a seed, behind its web server: who may see it, and what it takes."""

from __future__ import annotations

import json
import os
from itertools import count
from typing import Any

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, page
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import Page
from ansible_collections.groundup.cloud.tests.integration.metal.fake import OPERATOR, FakeSeed
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import PASSWORD, WANTED
from ansible_collections.groundup.cloud.tests.integration.metal.pages import (
    ORIGIN,
    PAGE,
    machine,
    overview,
    send,
    waits,
)
from requests.adapters import HTTPAdapter

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root")


# The seed counts logins by the address that they come from: on a quick machine the tests of one would be too many.
_SOURCES = (f"127.0.1.{last}" for last in count(1))


class _From(HTTPAdapter):
    """Connections from one address."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, **more, source_address=(self._address, 0))


class Asked:
    """A client of the page, inside the seed's network, at an address of its own."""

    def __init__(self, seed: FakeSeed) -> None:
        """Begin without a session; the seed's certificate is checked."""
        self._seed, self.session = seed, requests.Session()
        self.address = next(_SOURCES)
        self.session.mount(ORIGIN, _From(self.address))
        self.session.trust_env, self.session.verify = False, str(seed.ca)

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        return self._seed.inside(lambda: self.session.request(method, f"{PAGE}{path}", timeout=120, **more))

    def log_in(self, password: str = OPERATOR, *, origin: str = ORIGIN) -> int:
        return self.ask("POST", "v1/login", json={"password": password}, headers={"Origin": origin}).status_code

    def event(self) -> dict[str, Any]:
        """Return the first event."""

        def read() -> dict[str, Any]:
            with self.session.get(f"{PAGE}v1/events", stream=True, timeout=120) as answer:
                assert answer.headers["Content-Type"].startswith("text/event-stream")
                return dict(json.loads(next(answer.iter_lines()).removeprefix(b"data: ")))

        return self._seed.inside(read)


@pytest.fixture
def asked(seed_of_fakes: FakeSeed) -> Asked:
    return Asked(seed_of_fakes)


def test_nothing_of_the_machines_is_seen_without_a_session(asked: Asked, seed_of_fakes: FakeSeed) -> None:
    assert send(seed_of_fakes, overview(machine("worker-1", "serving", ""))) == ""
    for path in ("v1/events", "v1/session"):
        assert asked.ask("GET", path).status_code == 401
    assert asked.ask("GET", "v1/overview").status_code == 404
    assert "worker-1" not in asked.ask("GET", "").text
    assert asked.log_in(origin="https://elsewhere.test") == 403
    assert asked.log_in() == 200
    assert [one["machine"] for one in asked.event()["machines"]] == ["worker-1"]


def test_a_session_s_cookie_is_the_browser_s_alone_and_ends_with_its_token(asked: Asked) -> None:
    login = asked.ask("POST", "v1/login", json={"password": OPERATOR}, headers={"Origin": ORIGIN})
    said = login.headers["Set-Cookie"]
    assert all(word in said for word in ("HttpOnly", "secure", "SameSite=strict", "Path=/machines/")), said
    token = asked.ask("GET", "v1/session").json()["token"]
    assert asked.ask("POST", "v1/logout", headers={"X-CSRF-Token": "forged"}).status_code == 403
    cookies = asked.session.cookies.copy()
    assert asked.ask("POST", "v1/logout", headers={"X-CSRF-Token": token}).status_code == 200
    asked.session.cookies.update(cookies)
    assert asked.ask("GET", "v1/session").status_code == 401, "a cookie that was kept opens nothing"


def test_passwords_are_not_guessed_fast(asked: Asked, seed_of_fakes: FakeSeed) -> None:
    # From another address, so that the other tests may go on.
    seed_of_fakes.host.run("ip", "address", "add", "10.0.2.3/32", "dev", "lo", outside=True)

    def status() -> str:
        return seed_of_fakes.host.run(
            "curl", "--silent", "--insecure", "--interface", "10.0.2.3", "--noproxy", "*", "--output", "/dev/null",
            "--write-out", "%{http_code}", "--header", f"Origin: {ORIGIN}", "--data", '{"password": "guess"}',
            f"{PAGE}v1/login",
        ).stdout  # fmt: skip

    assert [status() for _ in range(7)] == ["401"] * 5 + ["429"] * 2
    assert asked.log_in() == 200, "somebody else's guesses lock nobody out"


@pytest.mark.parametrize("password", ["wrong", "", "\0", "\ud800", "x" * 200])
def test_a_wrong_password_of_the_controller_changes_nothing(
    asked: Asked, seed_of_fakes: FakeSeed, password: str
) -> None:
    if password.isascii():
        assert send(seed_of_fakes, overview(machine("forged", "serving", "")), password=password).startswith("401")
    assert asked.log_in() == 200
    assert "forged" not in json.dumps(asked.event())


@pytest.mark.parametrize("body", ["[]", "{", '{"machines": 3}', '{"machines": [1, {"machine": {"a": {"b": 1}}}]}'])
def test_what_is_no_overview_harms_nothing(asked: Asked, seed_of_fakes: FakeSeed, body: str) -> None:
    put = asked.ask("PUT", "v1/overview", data=body, auth=("groundup", PASSWORD))
    assert put.status_code == (200 if "[1" in body else 400)
    assert send(seed_of_fakes, overview(machine("worker-1", "serving", ""))) == ""
    assert asked.log_in() == 200
    assert asked.event()["machines"][0]["state"] == "serving"


def test_ten_machines_too_many_are_refused_before_they_are_read(asked: Asked) -> None:
    put = asked.ask("PUT", "v1/overview", data=b"x" * (9 * 2**20), auth=("groundup", PASSWORD))
    assert put.status_code == 413


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 200),
        ({"origin": "https://elsewhere.test"}, 403),
        ({"token": "forged"}, 403),
        ({"token": "\u00e4"}, 403),
        ({"token": ""}, 403),
        ({"about": "node-2"}, 409),
        ({"verb": "retry"}, 409),
        ({"verb": "erase"}, 409),
        ({"machine": "serves"}, 409),
        ({"machine": "nobody"}, 409),
        ({"machine": "../../etc/passwd"}, 409),
    ],
)
def test_a_decision_wants_session_token_own_page_and_a_machine_of_which_it_is_possible(
    asked: Asked, seed_of_fakes: FakeSeed, change: dict[str, str], status: int
) -> None:
    given = {"machine": "decided", "verb": "approve", "about": "node-1"}
    assert asked.ask("POST", "v1/decisions", json=given, headers={"Origin": ORIGIN}).status_code == 403
    assert send(seed_of_fakes, overview(waits("decided", "node-1"), machine("serves", "serving", ""))) == ""
    assert asked.log_in() == 200
    token = asked.ask("GET", "v1/session").json()["token"]
    body = json.dumps({**given, **{key: value for key, value in change.items() if key in given}})
    headers = {"Origin": change.get("origin", ORIGIN), "X-CSRF-Token": change.get("token", token).encode()}
    answer = asked.ask("POST", "v1/decisions", data=body, headers=headers)
    assert answer.status_code == status, answer.text
    page_ = seed_of_fakes.inside(lambda: Page(api=ORIGIN, password=PASSWORD, ca=seed_of_fakes.ca))
    open_ = seed_of_fakes.inside(page_.decisions)
    if status != 200:
        assert open_ == []
        assert answer.json()["error"]
        return
    assert [(one["machine"], one["verb"], one["about"]) for one in open_] == [("decided", "approve", "node-1")]
    assert open_[0]["by"] == f"operator from {asked.address}"
    assert asked.event()["decisions"]["decided"]["outcome"] is None
    assert seed_of_fakes.inside(lambda: page_.answer(open_[0]["number"], "done: a run goes on with it")) == ""
    assert seed_of_fakes.inside(lambda: page_.answer("forged", "done")).startswith("409")
    assert asked.event()["decisions"]["decided"]["outcome"] == "done: a run goes on with it"


@pytest.mark.parametrize(("method", "path"), [("GET", "v1/decisions"), ("PUT", "v1/decisions"), ("PUT", "v1/answers")])
def test_only_the_controller_reads_and_answers_decisions(asked: Asked, method: str, path: str) -> None:
    given = {"machine": "worker-1", "verb": "approve", "by": "forged"}
    assert asked.ask(method, path, json=given, auth=("groundup", "wrong")).status_code == 401
    assert asked.log_in() == 200
    assert asked.ask(method, path, json=given).status_code == 401, "a session is no controller"


def test_systemd_takes_the_unit_and_finds_its_sandbox_good(seed_of_fakes: FakeSeed) -> None:
    host = seed_of_fakes.host
    host.at(page.UNIT).write_text(page.unit_text(WANTED, environment=configuration.PROGRAMS / "current"))
    host.run("useradd", "--system", "--user-group", page.ACCOUNT)
    done = host.run("systemd-analyze", "verify", str(page.UNIT))
    assert (done.returncode, page.UNIT.name in done.stdout) == (0, False), done.stdout
    judged = host.run("systemd-analyze", "security", "--offline=true", "--threshold=50", str(page.UNIT))
    assert judged.returncode == 0, judged.stdout[-2000:]
