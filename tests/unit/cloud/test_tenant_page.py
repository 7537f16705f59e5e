"""What a tenant waits for, as the page shows it, and what a measurement keeps."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection
from ansible_collections.groundup.cloud.tests.e2e import api_latency, tenant_figures
from ansible_collections.groundup.cloud.tests.e2e.tenant_boots import PHASES


def test_the_page_has_both_tables_and_its_mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(api_latency.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(api_latency, "PAGE", page)
    monkeypatch.setattr(tenant_figures, "place", lambda: tmp_path)
    assert tenant_figures.main(["page"]) == 2
    at = {
        "accepted": [0.5, 1.0],
        "scheduled": [2.0, 3.0],
        "spawning": [4.0, 9.0],
        "active": [11.0, 15.0],
        "ssh": [30.0],
    }
    batch = {"count": 2, "at": at, "built": [7.0, 8.0], "causes": {"not there after 900 s": 1}}
    row = {"name": "ports", "clients": 4, "connections": "kept", "sent": 1000, "p50": 0.2, "p99": 0.9, "rate": 10.0,
           "busy": 0.1, "causes": {"HTTP 503": 100}}  # fmt: skip
    sync, used = {"northd": 0.01, "chassis": 0.1}, {"ovn-northd": 1 << 20}
    stages = [{"name": "before", "row": None, "sync": sync, "memory": used},
              {"name": "ports", "row": row, "sync": {"cause": "late"}, "memory": {}}]  # fmt: skip
    tenant_figures.keep("builtin", {"instances": {"day": "2026-11-28", "batches": [batch]}})
    tenant_figures.keep("builtin", {"ports": {"day": "2026-11-29", "stages": stages}})
    assert tenant_figures.main(["page"]) == 0
    text = page.read_text(encoding="utf-8")
    for line in (
        "| seconds since the request | builtin (2026-11-28): 2 at once |",
        "| accepted | 0.5 / 1.0 s (+0.5) |", "| spawning | 4.0 / 9.0 s (+2.0) |", "| ssh | 30.0 / 30.0 s (+19.0) |",
        "| on the hypervisor | 7 / 8 s |", "| failed | **1**: not there after 900 s |",
        "|  | builtin (2026-11-29): before | builtin (2026-11-29): ports |",
        "| requests | - | 1000 in 90 s, 10/s |", "| p50 / p99 | - | 200 / 900 ms |",
        "| failed | - | **100**: HTTP 503 |",
        "| all chassis | 0.10 s | late |", "| ovn-northd | 1 MiB | - |",
    ):  # fmt: skip
        assert f"{line}\n" in text
    assert text.count(api_latency.BEGIN) == text.count(tenant_figures.BEGIN) == 1
    assert text.count("<!-- /results -->") == 2


def test_what_is_measured_is_kept_beside_what_was_and_a_failure_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tenant_figures, "place", lambda: tmp_path)
    monkeypatch.setenv("OS_CLOUD", "elsewhere")
    monkeypatch.setattr(connection, "named", lambda _: None)
    at, causes = {key: [1.0] for key in PHASES}, dict[str, int]()

    def measured(_admin: Any, given: Namespace, plan: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        assert plan is None, "OS_CLOUD is not the site of SITE"
        assert given.instances == 20
        yield "instances", {"day": "today", "batches": [{"count": 1, "at": at, "built": [], "causes": causes}]}

    monkeypatch.setattr(tenant_figures, "measured", measured)
    assert tenant_figures.main(["--instances"]) == 0
    causes["HTTP 500"] = 1
    assert tenant_figures.main(["--instances"]) == 1
    assert json.loads((tmp_path / "builtin.json").read_text())["instances"]["batches"][0]["causes"] == causes
    assert "**1**: HTTP 500" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        tenant_figures.main([])
