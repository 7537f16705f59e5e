"""The verb puts the state back where the store alone is lost, and after kills; never beside a store made meanwhile."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import state_format
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import BackupJob
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import STORE, open_store
from ansible_collections.groundup.cloud.tests.unit.killing import Killer

from .restoring import Make, archive, given, job

OTHERS = ("ca.crt", "ovn.json", "pki/edge.crt", "zones.json")


@pytest.fixture
def source(plan: Plan, made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a set with the state of the site, whose control node is lost; return its path."""
    made(contents={"state": archive(*OTHERS, **{STORE: (state_dir(plan.site) / STORE).read_text()})})
    shutil.copytree(state_dir(plan.site) / "backups/sets", tmp_path / "sets")
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no power is cut
    return str(next((tmp_path / "sets").iterdir()))


def restore(plan: Plan, source: str) -> None:
    job(plan, parts=["state"], source=source).decide({})
    job(plan, parts=["state"], source=source).state()
    job(plan, parts=["state"], source=source).end()


def judge(plan: Plan) -> None:
    assert open_store(plan.site, write=False).get("keystone/admin")
    assert {name: (state_dir(plan.site) / name).read_text() for name in OTHERS} == {name: name for name in OTHERS}
    assert journal.under_way(plan.site) is None


def test_a_run_that_was_killed_anywhere_is_run_again_as_it_was(
    plan: Plan, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer, number, ended = Killer(), 0, False
    for name in ("rename", "replace", "mkdir", "unlink"):
        monkeypatch.setattr(Path, name, killer.after(getattr(Path, name)))
    while not ended:
        number, killer.left = number + 1, number + 1
        try:
            restore(plan, source)
            ended = True
        except KeyboardInterrupt:
            killer.left = 0
            if journal.under_way(plan.site) or not (state_dir(plan.site) / STORE).exists():
                restore(plan, source)
        killer.left = 0
        judge(plan)
        shutil.rmtree(state_dir(plan.site))
    assert number > 10


def test_a_lost_store_comes_back_among_the_files_that_are_left(plan: Plan, source: str) -> None:
    home = state_dir(plan.site)
    home.mkdir(parents=True)
    (home / "ca.crt").write_text("ca.crt")
    restore(plan, source)
    judge(plan)


def test_a_set_opens_by_the_password_alone_where_the_store_is_lost(plan: Plan, source: str, tmp_path: Path) -> None:
    home = state_dir(plan.site)
    home.mkdir(parents=True)
    (home / "ca.crt").write_text("ca.crt")
    asked = given(source=source, into=str(tmp_path / "opened"), parts=["etcd"])
    BackupJob(plan, asked, Changes(check=False)).open()
    assert (tmp_path / "opened/etcd.db").read_bytes() == b"etcd"


def test_a_store_that_was_made_while_a_restore_was_open_is_not_taken_for_the_sets(plan: Plan, source: str) -> None:
    work = job(plan, parts=["state"], source=source)
    work.decide({})
    open_store(plan.site).ensure(["keystone/admin"])  # a layer was run before the restore was gone on with
    with pytest.raises(GroundupError, match="this control node has a state of the site: it is not replaced"):
        work.state()
    with pytest.raises(GroundupError, match="this control node has a state of the site: it is not replaced"):
        job(plan, parts=["state"], source=source).decide({})


def test_a_set_that_a_newer_version_made_is_not_put_back(
    plan: Plan, made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = (state_dir(plan.site) / STORE).read_text()
    made(contents={"state": archive(**{STORE: store, state_format.FILE: "9999\n"})})
    shutil.copytree(state_dir(plan.site) / "backups/sets", tmp_path / "sets")
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "new"))
    source = str(next((tmp_path / "sets").iterdir()))
    with pytest.raises(GroundupError, match="has format 9999") as caught:
        restore(plan, source)
    assert caught.value.where == source
    assert not (state_dir(plan.site) / STORE).exists()
