"""The runs of a site on its page, in a real browser: how each ended, and nothing of them but text."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.page import page
from ansible_collections.groundup.cloud.tests import browser
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import WHOLE, planned

HOSTILE = "<img src=x onerror=\"document.title='taken'\"></td>"
ROW: dict[str, Any] = {
    "by": "ops@control", "playbooks": ["groundup.cloud.site"], "tags": [], "skip_tags": [], "limit": "", "check": False,
    "lives": False, "stopped": False, "failed": "", "without": "", "changed": {}, "would_change": {},
}  # fmt: skip
RUNS: list[dict[str, Any]] = [  # the oldest first
    ROW | {"began": 1796000000.0, "ended": 1796000090.4, "changed": {"host": 3, "kubernetes": 1}},
    ROW | {"began": 1796000100.0, "ended": 1796000101.0, "check": True, "tags": ["check"], "would_change": {"seed": 2}},
    ROW | {"began": 1796000200.0, "ended": 1796000201.0, "times": 7, "since": 1795990000.0, "without": "worker-1"},
    ROW | {"began": 1796000300.0},
    ROW | {"began": 1796000400.0, "lives": True, "limit": HOSTILE, "by": HOSTILE},
    ROW | {"began": 1796000500.0, "ended": 1796000501.0, "stopped": True, "failed": f"{HOSTILE} on {HOSTILE}"},
]  # fmt: skip
FILE = {"told": 1796000600.0, "runs": RUNS}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Serve the page of a whole site from ``tmp_path``."""
    (tmp_path / "index.html").write_text(page(planned("ha", **WHOLE), interval=1))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_browser_shows_each_run_as_text_and_a_torn_list_as_such(tmp_path: Path, address: str) -> None:
    if browser.missing():
        pytest.skip("ci/bootstrap browser installs chromium")
    with browser.opened(home=tmp_path, timeout=60) as shown:
        from playwright.sync_api import expect

        shown.goto(address)
        expect(shown.locator("#told")).to_contain_text("no run was told yet")
        (tmp_path / "runs.json").write_text(json.dumps(FILE))
        expect(shown.locator("#runs tbody tr")).to_have_count(len(RUNS))
        cells = [row.split("\t")[1:] for row in shown.locator("#runs tbody").inner_text().splitlines()]
        assert cells[2:5] == [
            ["-", "groundup.cloud.site", "ops@control", "did not end", ""],
            ["1 s", "groundup.cloud.site", "ops@control", cells[3][3], "nothing"],
            ["1 s", "groundup.cloud.site --tags check (changes nothing)", "ops@control", "done", "would: seed 2"],
        ]
        assert cells[0][3] == f"stopped: {HOSTILE} on {HOSTILE}"
        assert cells[1][1:] == [f"groundup.cloud.site --limit {HOSTILE}", HOSTILE, "under way", ""]
        assert cells[3][3].startswith("done, 7 times since ")
        assert cells[3][3].endswith(", without worker-1")
        assert cells[5][::4] == ["90 s", "host 3, kubernetes 1"]
        assert (shown.locator("img").count(), shown.title()) == (0, "ha")
        assert shown.locator("#runs a").last.get_attribute("href") == (
            "http://127.0.0.1:9428/select/vmui/#/?query=*&g0.range_input=91s&g0.end_input=2026-11-30T00%3A54%3A50.400Z"
            "&g0.relative_time=none"
        )
        (tmp_path / "runs.json").write_text(json.dumps(FILE)[:50])
        expect(shown.locator("#told")).to_contain_text("cannot be read")
