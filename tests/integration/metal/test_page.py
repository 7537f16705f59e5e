"""The page of machines on a seed, behind its web server: who may see it, what it shows, and in a real browser."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, page
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.decisions import Desk
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import Discovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import Page
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.tests import browser
from ansible_collections.groundup.cloud.tests.integration.metal.fake import OPERATOR, FakeSeed
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import PASSWORD, SEED, WANTED
from ansible_collections.groundup.cloud.tests.integration.metal.stranger import Stranger
from ansible_collections.groundup.cloud.tests.unit.metal.test_match import USED, told

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root")
ORIGIN = WANTED["api_url"]
PAGE = f"{ORIGIN}/machines/"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
SCREENSHOT = COLLECTION / "docs/_static/machines-page.png"


def machine(name: str, state: str | None, doing: str, **more: Any) -> dict[str, Any]:
    return {
        "machine": name, "rack": "r1", "group": "worker", "provisioner": "ironic", "state": state, "doing": doing,
        "since": 1000.0, "expected": None, "moving": False, "card": None, "asks": "",
        "may": dict.fromkeys(("approve", "retry"), f"it is {state}"), **more,
    }  # fmt: skip


def overview(*machines: dict[str, Any]) -> dict[str, Any]:
    return {"site": "lab-metal", "time": 1041.0, "machines": list(machines)}


class Asked:
    """A client of the page, inside the seed's network."""

    def __init__(self, seed: FakeSeed) -> None:
        """Begin without a session; the seed's certificate is checked."""
        self._seed, self.session = seed, requests.Session()
        self.session.trust_env, self.session.verify = False, str(seed.ca)

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        return self._seed.inside(lambda: self.session.request(method, f"{PAGE}{path}", timeout=20, **more))

    def log_in(self, password: str = OPERATOR, *, origin: str = ORIGIN) -> int:
        return self.ask("POST", "v1/login", json={"password": password}, headers={"Origin": origin}).status_code

    def event(self) -> dict[str, Any]:
        """Return the first event."""

        def read() -> dict[str, Any]:
            with self.session.get(f"{PAGE}v1/events", stream=True, timeout=20) as answer:
                assert answer.headers["Content-Type"].startswith("text/event-stream")
                return dict(json.loads(next(answer.iter_lines()).removeprefix(b"data: ")))

        return self._seed.inside(read)


def waits(name: str, node: str) -> dict[str, Any]:
    """Return a machine that waits for approval."""
    card = {
        "what": f"it fits {name} and waits for approval", "why": "approve: ask", "remedy": "approve it on this page",
    }  # fmt: skip
    return machine(name, "matched", "", card=card, asks=node, may={"approve": "", "retry": "it waits for approval"})


@pytest.fixture
def asked(seed_of_fakes: FakeSeed) -> Asked:
    return Asked(seed_of_fakes)


def send(seed: FakeSeed, found: dict[str, Any], *, password: str = PASSWORD) -> str:
    return seed.inside(lambda: Page(api=ORIGIN, password=password, ca=seed.ca).send(found))


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
    given = {"machine": "decided", "verb": "approve"}
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
    assert open_[0]["by"] == f"operator from {SEED}"
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


@pytest.fixture
def shown(seed_of_fakes: FakeSeed, tmp_path: Path) -> Iterator[Any]:
    if not Path(browser.CHROMIUM).exists():
        pytest.skip("ci/bootstrap browser installs chromium")
    program = tmp_path / "chromium"  # in the seed's network
    words = " ".join(seed_of_fakes.host.argv(browser.CHROMIUM, outside=True))
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    with browser.opened("--ignore-certificate-errors", home=tmp_path, timeout=30, height=420, program=program) as page:
        yield page


def test_a_browser_logs_in_and_sees_machines_change_without_a_reload(seed_of_fakes: FakeSeed, shown: Any) -> None:
    from playwright.sync_api import expect

    severe: list[str] = []
    shown.on("console", lambda said: severe.append(said.text) if said.type == "error" else None)
    shown.on("pageerror", lambda error: severe.append(str(error)))
    card = {
        "what": f"its management controller is not reached: {HOSTILE}",
        "why": "it can neither be switched on nor booted",
        "remedy": "see its cable and power, and bmc.address",
    }
    ramdisk = machine("worker-1", "provisioning", "its ramdisk boots, or writes the system", expected=98.0, moving=True)
    failed = machine("worker-2", "failed", "", card=card, since=911.0)
    given = machine("seed-1", None, "not installed by the seed", provisioner="container", since=None)
    assert send(seed_of_fakes, overview(given, ramdisk, failed)) == ""
    password, machines, summary = (shown.locator(f"#{name}") for name in ("password", "machines", "summary"))

    shown.goto(PAGE)
    expect(password).to_be_visible()
    expect(machines).to_be_hidden()
    password.fill("wrong")
    password.press("Enter")
    expect(shown.locator("#refused")).to_contain_text("wrong")
    password.fill(OPERATOR)
    password.press("Enter")
    for text in ("worker-1", "remedy: see its cable and power", "01:38", HOSTILE):  # the last is shown as what it is
        expect(machines).to_contain_text(text)
    expect(shown.locator("#machines img, #machines script")).to_have_count(0)
    expect(summary).to_contain_text("1 container, 1 provisioning, 1 failed")

    serving = {**ramdisk, "state": "serving", "doing": "", "moving": False}
    assert send(seed_of_fakes, overview(given, serving, failed)) == ""
    expect(summary).to_contain_text("serving")
    expect(shown.locator("tr.serving")).to_contain_text("serving")
    expect(shown).to_have_title("Machines")  # nobody's text ran
    assert [text for text in severe if "401" not in text] == []

    card["what"] = "its management controller is not reached: Max retries exceeded with url: /redfish/v1/"
    assert send(seed_of_fakes, overview(given, ramdisk, failed)) == ""
    expect(shown.locator("tr.moving")).to_have_count(1)
    if os.environ.get("GROUNDUP_SCREENSHOTS"):
        shown.screenshot(path=SCREENSHOT)
    shown.locator("#logout").click()
    expect(password).to_be_visible()


def test_a_person_approves_in_a_browser_and_a_run_has_ironic_know_it_and_says_so_on_the_page(
    seed_of_fakes: FakeSeed, stranger: Stranger, shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playwright.sync_api import expect

    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    plan = make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))
    inside, ironic = seed_of_fakes.inside, stranger.ironic
    assert stranger.tell(told(0x31, groundup_disks=[USED])) == 202
    discovered = Discovery(
        ironic=ironic, plan=plan, home=tmp_path / "metal", say=print, seconds=0, password=lambda _name: ""
    )

    def unheard() -> str:
        return "" if inside(discovered.look) else "Ironic has no inventory of it yet"

    assert not (left := wait_until(unheard, timeout=120, pause=1)), left
    one = inside(lambda: discovered.waiting("found-1"))
    assert send(seed_of_fakes, overview(waits("found-1", one.shown), machine("worker-1", "serving", ""))) == ""

    machines, buttons = shown.locator("#machines"), shown.locator("#machines button")
    shown.on("dialog", lambda dialog: dialog.accept())
    shown.goto(PAGE)
    shown.locator("#password").fill(OPERATOR)
    shown.locator("#password").press("Enter")
    expect(buttons).to_have_text(["approve"])  # nothing else is possible
    if os.environ.get("GROUNDUP_SCREENSHOTS"):
        shown.screenshot(path=SCREENSHOT.with_name("machines-approve.png"))
    buttons.click()
    expect(machines).to_contain_text("waits for a run")
    expect(buttons).to_have_count(0)  # once is enough
    page_ = inside(lambda: Page(api=ORIGIN, password=PASSWORD, ca=seed_of_fakes.ca))
    desk = Desk(
        page=page_, discovered=discovered, home=tmp_path / "metal", names=frozenset(("found-1",)), say=print
    )  # fmt: skip
    assert inside(desk.turn) == ["found-1"]
    assert one.approval("found-1").items() <= (inside(lambda: ironic.node(one.node)) or {})["extra"].items()
    assert f"approved by operator from {SEED}" in Journal(file_of(tmp_path / "metal", "found-1")).doing
    expect(machines).to_contain_text("done: a run goes on")
    assert inside(desk.turn) == [], "once"
