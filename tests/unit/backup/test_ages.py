"""What monitoring is told of the newest set: when each part of the plan was saved."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs import job as logs_job
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.logs.disk import LogShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import disk
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup, SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import site_shelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.take import parts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.backups import ages
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan, S3Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

Make = Callable[..., SetBackup]


def test_each_part_has_the_time_of_the_newest_set_and_a_part_that_it_lacks_none(plan: Plan, made: Make) -> None:
    made(datetime.now(UTC) - timedelta(days=1))
    newest = made(datetime.now(UTC), parts=("etcd", "state"))
    saved = {name: int(datetime.fromisoformat(one["taken"]).timestamp()) for name, one in newest.parts.items()}
    assert set(saved) == {"etcd", "state"}
    assert ages(plan, warnings=[]) == dict.fromkeys([*parts(plan), "restore-test"], 0) | saved


def test_without_a_set_that_can_be_read_every_part_was_never_saved(
    plan: Plan, shelf: SetShelf, made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    never, warnings = dict.fromkeys([*parts(plan), "restore-test"], 0), list[str]()
    assert ages(plan, warnings=warnings) == never
    newest = made(datetime.now(UTC))
    (shelf.home / newest.name / "set.json").write_text("{")
    assert ages(plan, warnings=warnings) == never
    assert warnings == [], "verification and status say why"

    def stale(*_: object) -> None:
        raise OSError(errno.ESTALE, "Stale file handle", "/srv/backups")

    monkeypatch.setattr(SetShelf, "find", stale)
    assert ages(plan, warnings=warnings) == never
    (warning,) = warnings
    assert "Stale file handle: '/srv/backups'" in warning


def test_sets_of_another_directory_are_asked_for_by_it(plan: Plan, shelf: SetShelf, made: Make, tmp_path: Path) -> None:
    disk.write_tested(shelf.home / made(datetime.now(UTC)).name, {"state": "ok"})
    other = str(tmp_path / "other")
    assert not any(ages(plan, other, warnings=[]).values())
    shutil.copytree(shelf.home, site_shelf(plan, other).home)
    assert ages(plan, other, warnings=[]) == ages(plan, warnings=[])
    assert all(ages(plan, warnings=[]).values())


def test_a_set_that_passed_its_test_one_in_the_bucket_and_the_copy_of_logs_are_told(
    plan: Plan, shelf: SetShelf, made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3 = S3Plan(endpoint="https://s3.example.com", bucket="b", prefix="", region="", access_key="", secret_key="")
    plan = replace(plan, backups=BackupPlan(s3=s3, logs_every=5))
    now = datetime.now(UTC).replace(microsecond=0)
    proven, copied, newest = (shelf.home / made(now - timedelta(days=days)).name for days in (3, 2, 1))
    told = ages(plan, warnings=[])
    assert [told[name] for name in ("restore-test", "bucket-copy", "binary-logs")] == [0, 0, 0]
    for place, state in ((proven, "ok"), (copied, "not run"), (newest, "damaged")):
        disk.write_tested(place, {"state": state})
    disk.write_uploaded(copied, "b")
    stream = LogShelf(shelf.home).begin(
        site=plan.site, store=open_store(plan.site, write=False), member="m", history="h", why=""
    )
    stream.seen(0, now)
    assert ages(plan, warnings=[])["binary-logs"] == 0, "they do not follow the newest set"
    monkeypatch.setattr(logs_job, "lacking", lambda *_: "")
    told = ages(plan, warnings=[])
    assert [told[name] for name in ("restore-test", "bucket-copy", "binary-logs")] == [
        int((now - timedelta(days=days)).timestamp()) for days in (3, 2, 0)
    ]
