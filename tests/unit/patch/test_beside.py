"""Patching beside other work: a restore, an upgrade that is open, a host in maintenance that left the site file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal as restores
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch.journal import Maintenance
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal as upgrades
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.journal import KUBERNETES, OPENSTACK, Upgraded

from .conftest import NAME, Run

RECORD = Maintenance(begun="2026-11-30T10:00:00+00:00", boot="a:1", cordoned=True, disabled=True)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    (state_dir("s") / "patch").mkdir(parents=True)


@pytest.mark.parametrize("what", [KUBERNETES, OPENSTACK], ids=lambda one: one.name)
def test_no_host_is_patched_while_an_upgrade_is_open_but_one_in_maintenance_comes_back(
    run: Run, what: Upgraded
) -> None:
    before, after = {"Kubernetes": ("1.36.3", "1.37.2"), "OpenStack": ("2026.1", "2026.2")}[what.name]
    upgrades.begin("s", source=before, target=after, versions=[before, after], what=what)
    with pytest.raises(GroundupError, match=f"groundup.cloud.patch waits: {what.name} is on its way") as caught:
        run.step("report")
    assert what.verb in caught.value.remedy
    assert run.shown, "the report is shown first"
    assert run.step("report", apply=False)["order"] == []
    journal.keep("s", NAME, RECORD)
    assert run.step("report")["order"] == [[NAME]]


def test_no_host_is_patched_while_a_restore_is_half_done(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = SimpleNamespace(parts=("etcd",), set="/sets/1")
    monkeypatch.setattr(restores, "under_way", lambda _site: begun)
    with pytest.raises(GroundupError, match="a restore of etcd from /sets/1 has begun"):
        run.step("report")
    assert run.step("report", apply=False)["order"] == []


def test_a_host_in_maintenance_that_left_the_site_file_is_not_forgotten(run: Run) -> None:
    """Its node is cordoned, its nova-compute disabled, and nobody would take that back."""
    journal.keep("s", "worker-9", RECORD)
    with pytest.raises(GroundupError, match="worker-9 is in maintenance, and no machine of the site file") as caught:
        run.step("report")
    assert "its node is cordoned, its nova-compute is disabled" in caught.value.why
    assert "patch/worker-9.json" in caught.value.remedy
    run.step("report", apply=False)
    assert "worker-9" in run.shown[-1]
    journal.forget("s", "worker-9")
    assert run.step("report")["order"] == [[NAME]]
