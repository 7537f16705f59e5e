"""A plan and a stand-in of a cloud, for the verb."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import data, restart
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import run as verb
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal

from .cloud import Cloud, plan_of


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of()


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cloud:
    made = Cloud()
    ticks = itertools.count(step=100)
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr(journal, "state_dir", lambda _: tmp_path)
    monkeypatch.setattr(verb, "Api", lambda _: None)
    monkeypatch.setattr(verb, "look", made.facts)
    monkeypatch.setattr(verb, "check", made.check)
    monkeypatch.setattr(verb, "services", made.services)
    monkeypatch.setattr(restart, "restart", made.restart)
    monkeypatch.setattr(data, "migrate", made.migrate)
    monkeypatch.setattr(data, "forget", made.forget)
    return made
