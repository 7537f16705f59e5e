"""A control node whose cluster is a stand-in; what waits there waits no time."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import job, journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.job import UpgradeJob

from .cluster import Cluster, plan_of


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def controller(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    ticks = itertools.count(step=100)
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr(journal, "state_dir", lambda _: tmp_path)
    (tmp_path / "admin.conf").touch()
    monkeypatch.setattr(job, "kubeconfig_path", lambda _: tmp_path / "admin.conf")
    monkeypatch.setattr(job, "Api", lambda _: cluster)
    monkeypatch.setattr(UpgradeJob, "plan", lambda self, other=None: plan_of(version=other or self.site_file))
    monkeypatch.setattr(job, "preview", lambda *_: "")
    return tmp_path
