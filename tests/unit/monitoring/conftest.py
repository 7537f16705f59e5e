"""A monitoring host that is installed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import ownership, units, watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import central
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.tests.unit.host.test_files_and_units import Systemd

from .sites import planned

GIVEN: dict[str, Any] = {
    "site": "lab", "files": files(planned("lab")), "receivers": {}, "controllers": {}, "passwords": {},
    "api_servers": [],
}  # fmt: skip


class MonitoringHost:
    """A host with all programs installed; which were waited for."""

    def __init__(self, systemd: Systemd, home: Path) -> None:
        self.systemd, self.home = systemd, home
        self.waited: list[str] = []
        self.shown = ""  # all diffs

    def told(self, *, check: bool = False, **other: Any) -> list[str]:
        """Return what a run changes."""
        changes = Changes(check=check)
        central.tell(changes, GIVEN | other)
        self.shown += json.dumps(changes.diffs)
        return changes.done


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MonitoringHost:
    systemd = Systemd(SubState="running")
    found = MonitoringHost(systemd, tmp_path / "central")
    monkeypatch.setattr(units, "run", systemd.run)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(watched, "UNITS", tmp_path / "systemd")
    monkeypatch.setattr(watched, "BACKUPS", tmp_path / "texts/groundup-backups.prom")
    monkeypatch.setattr(watched, "DRIFT", tmp_path / "texts/groundup-drift.prom")
    monkeypatch.setattr(watched, "FAILURE", tmp_path / "texts/groundup-hypervisor-failure.prom")
    monkeypatch.setattr(watched, "CAPACITY", tmp_path / "texts/groundup-capacity.prom")
    monkeypatch.setattr(watched, "TEXTS", tmp_path / "texts")
    monkeypatch.setattr(central, "HOME", found.home)
    monkeypatch.setattr(central, "_takes_routing", lambda _: None)  # amtool is of a package
    monkeypatch.setattr(central, "answers", lambda *at: found.waited.append(at[-1]))
    monkeypatch.setattr(ownership, "refuse_other", lambda _: None)
    installed(central.ALL)
    return found


def installed(programs: Iterable[central.WatchProgram]) -> None:
    """Have the units of programs there."""
    for one in programs:
        path = watched.unit_file(one.unit)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
