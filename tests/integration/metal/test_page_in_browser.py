"""The page of machines on a seed, in a real browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.decisions import Desk
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import MachineDiscovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import Page
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.tests import browser
from ansible_collections.groundup.cloud.tests.integration.metal.fake import OPERATOR, FakeSeed
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import PASSWORD, SEED
from ansible_collections.groundup.cloud.tests.integration.metal.pages import (
    HOSTILE,
    ORIGIN,
    PAGE,
    machine,
    overview,
    send,
    waits,
)
from ansible_collections.groundup.cloud.tests.integration.metal.stranger import Stranger
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import USED, told

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root")
SCREENSHOT = COLLECTION / "docs/_static/machines-page.png"


@pytest.fixture
def shown(seed_of_fakes: FakeSeed, tmp_path: Path) -> Iterator[Any]:
    if not Path(browser.CHROMIUM).exists():
        pytest.skip("ci/bootstrap browser installs chromium")
    program = tmp_path / "chromium"  # in the seed's network
    words = " ".join(seed_of_fakes.host.argv(browser.CHROMIUM, outside=True))
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    with browser.opened("--ignore-certificate-errors", home=tmp_path, timeout=120, height=420, program=program) as page:
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
    discovered = MachineDiscovery(
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
