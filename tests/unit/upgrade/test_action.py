"""The action of an upgrade's steps: other runs are kept away while one lasts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import upgrade
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal as maintenance
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.job import UpgradeJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.run import UpgradeRun

from .cluster import plan_of

GIVEN: dict[str, Any] = {
    "site_file": "site.yml", "force": [], "seen": {}, "until": "end", "kind": "kubelet", "hosts": ["worker-1"],
    "evict": True, "timeout": 3600.0, "said": "",
}  # fmt: skip


@pytest.mark.parametrize("step", ["back", "begin", "enter", "leave", "end"])
def test_the_lease_is_renewed_while_a_step_lasts_longer_than_it(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """As a drain with more time for its pods than a lease has."""
    renewed = list[str]()

    def of_site(site: str) -> list[str]:
        renewed.append(site)
        return ["said once"]

    def lasts(_run: object) -> dict[str, Any]:
        assert not wait_until(lambda: len(renewed) < 5, timeout=5, pause=0.01)
        return {"changed": True}

    monkeypatch.setattr(run_lease, "of_site", of_site)
    monkeypatch.setattr(run_lease, "RENEWED", timedelta(milliseconds=1))
    monkeypatch.setattr(UpgradeRun, step, lasts)
    monkeypatch.setattr(UpgradeJob, "plan", lambda *_: plan_of())
    asked: Any = upgrade.ActionModule.__new__(upgrade.ActionModule)
    asked.changes, asked._display = Changes(check=False), SimpleNamespace(display=lambda _text: None)
    assert asked.work({**GIVEN, "step": step}) == {"changed": True, "warnings": ["said once"]}


def test_the_check_is_told_which_hosts_are_in_maintenance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    monkeypatch.setattr(UpgradeJob, "plan", lambda *_: plan_of())
    monkeypatch.setattr(UpgradeJob, "check", lambda job: {"resting": [*job.resting]})
    maintenance.directory("lab-ha").mkdir(parents=True)
    maintenance.keep("lab-ha", "worker-1", maintenance.Maintenance(begun="now", boot="a:1"))
    asked: Any = upgrade.ActionModule.__new__(upgrade.ActionModule)
    asked.changes, asked._display = Changes(check=False), SimpleNamespace(display=lambda _text: None)
    assert asked.work({**GIVEN, "step": "check"}) == {"resting": ["worker-1"]}
