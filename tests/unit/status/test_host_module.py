"""What one host says of itself: a blank one has nothing of the site, and a part that fails hides no other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._status import host, storage
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status import hosts


def asked(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of this machine's answer to what the controller sends."""
    found = host.of_host(Changes(check=False), {"wanted": json.loads(json.dumps(wanted))})
    assert found["kernel"]
    assert found["uptime"] > 0
    return dict(found["parts"])


@pytest.mark.parametrize("name", ["seed-1", "control-1", "worker-1", "storage-1", "hypervisor-1"])
def test_a_blank_host_has_no_layer(plan: Plan, name: str) -> None:
    wanted = hosts.wanted(plan, plan.hosts[name])
    assert {part: one["state"] for part, one in asked(wanted).items()} == dict.fromkeys(wanted, "not made")


def test_a_part_that_fails_hides_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(_: Any) -> Any:
        raise GroundupError("it is ill", where="here", why="w", remedy="a doctor")

    monkeypatch.setattr(host, "_storage", fails)
    monkeypatch.setattr(host, "HAPROXY", tmp_path)
    found = asked({"storage": {}, "edge": {}, "seed": {}})
    assert found["storage"] == {"state": "broken", "why": "it is ill", "remedy": "a doctor"}
    assert found["edge"] == {"state": "unknown", "why": "KeyError: 'virtual_ip'"}
    assert found["seed"]["state"] == "not made"


def test_units_that_do_not_run_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = subprocess.CompletedProcess([], 3, stdout="active\nfailed\n", stderr="")
    monkeypatch.setattr(host, "attempt", lambda _: done)
    monkeypatch.setattr(host, "REGISTRY", tmp_path)
    seed = asked({"seed": {}})["seed"]
    assert (seed["state"], seed["why"]) == ("broken", "nginx.service is failed")
    assert "journalctl" in seed["remedy"]


STATUS = {
    "health": {"status": "HEALTH_OK"}, "osdmap": {"num_osds": 3, "num_up_osds": 2, "num_in_osds": 3},
    "pgmap": {"bytes_used": 1, "bytes_total": 4}, "quorum_names": ["storage-2", "storage-1"],
}  # fmt: skip
HEALTHY = {
    "status": STATUS, "versions": {"overall": {"ceph version 18.2.7": 7}}, "health": {"status": "HEALTH_OK"},
    "quorum_status": {"quorum_names": ["storage-1", "storage-2", "storage-3"]},
    "osd dump": {"osds": [{"osd": one, "up": 1, "in": 1} for one in range(9)]},
    "pg stat": {"pg_summary": {"num_pg_by_state": [{"name": "active+clean", "num": 33}]}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"quorum_status": {"quorum_names": []}}, "monitor storage-1 is outside the quorum"),
        ({"osd dump": {"osds": [{"osd": 0, "up": 0, "in": 1}]}}, "osd.0 is down"),
        ({"health": {"status": "HEALTH_WARN", "checks": {}}}, "HEALTH_WARN: no reason given"),
    ],
)
def test_the_cluster_is_judged_by_the_checks_of_its_layer(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    assert plan.ceph
    wanted = hosts.wanted(plan, plan.hosts[plan.ceph.monitors[0].name])["ceph"]
    (tmp_path / f"mon/ceph-{wanted['name']}").mkdir(parents=True)
    monkeypatch.setattr(storage, "LIB", tmp_path)
    monkeypatch.setattr(storage, "installed", lambda: True)
    answers = HEALTHY | changes

    class Connected:
        def __enter__(self) -> Any:
            return SimpleNamespace(ask=lambda prefix, **_: answers[prefix])

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(storage, "connected", lambda *_, **__: Connected())
    found = asked({"ceph": {**wanted, "osds": 9}})["ceph"]
    assert (found["state"], why in found["why"]) == ("broken" if why else "ok", True)
    assert found["osds"] == {"known": 3, "up": 2, "in": 3}
