"""The page of a site and the store's dashboards, in a real browser, of a site that is watched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import TEXTS
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import HOME, RUNS
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests import browser
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .test_page_runs import FILE
from .watched import watched

PORT = "8430"
PATIENCE = 120.0  # an alert fires 45 s after its fault
ROOM = "".join(
    f'groundup_capacity{kind}{{scope="zone",name="{name}",resource="vcpus"}} {value}\n'
    for name, free in (("west", 60), ("east", 5))
    for kind, value in (("", 100), ("_free", free))
)
SCREENSHOT = COLLECTION / "docs/_static/site-page.png"


@pytest.mark.long
def test_a_browser_sees_a_lost_machine_and_what_fires(
    tmp_path: Path, artifact: Callable[[str], Artifact], root: Callable[[str], Path]
) -> None:
    if browser.missing():
        pytest.skip("ci/bootstrap browser installs chromium")
    plan = planned("lab", monitoring__interval=10, monitoring__capacity={})  # on a busy machine a target takes seconds
    with watched(tmp_path, plan, artifact, root("root-monitoring")) as site:
        serve = (
            sys.executable,
            "-m",
            "http.server",
            PORT,
            "--bind",
            "127.0.0.1",
            "-d",
            str(site.host.at(HOME / "page")),
        )
        program = tmp_path / "chromium"  # in the host's network
        program.write_text(f'#!/bin/sh\nexec {" ".join(site.host.argv(browser.CHROMIUM, outside=True))} "$@"\n')
        program.chmod(0o755)
        with (
            subprocess.Popen(site.host.argv(*serve, outside=True)) as server,
            browser.opened(home=tmp_path, timeout=PATIENCE, height=900, program=program) as page,
        ):
            from playwright.sync_api import expect

            site.host.at(HOME / RUNS).write_text(json.dumps(FILE))
            severe: list[str] = []
            page.on("pageerror", lambda error: severe.append(str(error)))
            page.on("console", lambda said: severe.append(said.text) if said.type == "error" else None)
            page.goto(f"http://127.0.0.1:{PORT}/")
            expect(page.locator('svg circle[data-state="well"]')).to_have_count(len(plan.hosts))
            expect(page.locator("#layers")).to_contain_text("kubernetes")
            expect(page.locator("#capacity")).to_contain_text("nobody has asked yet")
            site.host.at(TEXTS / "groundup-capacity.prom").write_text(ROOM)
            expect(page.locator("#capacity tbody tr").first).to_have_text("zoneeastvcpus95 %5100")
            expect(page.locator("#capacity tbody tr")).to_have_count(2)
            site.away(plan.hosts["worker-2"].address)
            expect(page.locator('svg circle[data-state="critical"] title')).to_have_text("worker-2: critical")
            expect(page.locator("#alerts")).to_contain_text("HAProxy of control-1 has taken worker-1 out of identity")
            expect(page.locator("#alerts")).to_contain_text("worker-2 does not answer")
            assert severe == []
            expect(page.locator('svg circle[data-state="well"]')).to_have_count(2)
            if os.environ.get("GROUNDUP_SCREENSHOTS"):
                page.screenshot(path=SCREENSHOT, full_page=True)

            page.goto("http://127.0.0.1:8428/vmui/#/dashboards")
            expect(page.locator("body")).to_contain_text("Processors by rack")
            expect(page.locator("body")).to_contain_text("Backups, certificates, drift")
            server.kill()
