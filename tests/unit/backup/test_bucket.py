"""What is removed from a bucket: its server is faked, a real one is in tests/integration/ceph."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import s3
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.s3 import BucketSets
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.shelf import STAMP
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import BackupPlan, S3Plan

from .restoring import Make, job

NOW = datetime(2026, 11, 28, tzinfo=UTC)
OLD, NEW = "20261101T000000Z", "20261127T000000Z"


class Server:
    def __init__(self, *names: str, files: Path = Path()) -> None:
        self.names, self.files = list(names), files

    def list_objects(self, _bucket: str, *, prefix: str, recursive: bool) -> list[Any]:
        assert recursive
        aged = NOW - timedelta(days=9)
        return [SimpleNamespace(object_name=prefix + name, last_modified=aged) for name in self.names]

    def fget_object(self, _bucket: str, key: str, file: str) -> None:
        shutil.copyfile(self.files / key.removeprefix("lab/"), file)

    def remove_object(self, _bucket: str, key: str) -> None:
        self.names.remove(key.removeprefix("lab/"))


def of(server: Server) -> BucketSets:
    """Return the sets of a bucket on ``server``."""
    bucket = BucketSets.__new__(BucketSets)
    bucket._client = server  # type: ignore[assignment]
    bucket._target, bucket.where = SimpleNamespace(bucket="sets", prefix="lab/"), "a test"  # type: ignore[assignment]
    return bucket


def test_what_is_no_set_is_neither_told_nor_removed() -> None:
    ours = [f"{NEW}/set.json", f"{NEW}/etcd.sealed", f"{OLD}/etcd.sealed"]
    theirs = ["photos/cat.jpg", "photos/set.json", "20261101T000000Z-copy/etcd.sealed", "letter.txt"]
    bucket = of(server := Server(*ours, *theirs))
    assert bucket.names() == [NEW]
    assert bucket.prune(14, days=0, now=NOW) == []
    assert sorted(server.names) == sorted([*ours[:2], *theirs]), "what a killed upload left goes, and nothing else"


def test_a_set_of_a_time_that_has_not_come_is_no_newest_and_none_is_removed_beside_it(tmp_path: Path) -> None:
    late = (datetime.now(UTC) + timedelta(days=1)).strftime(STAMP)
    server = Server(*(files := [f"{late}/set.json", f"{NEW}/set.json", f"{OLD}/set.json"]))
    with pytest.raises(GroundupError, match=rf"{late}: .*backup-of-the-future"):
        of(server).fetch("newest", tmp_path)
    with pytest.raises(GroundupError, match="backup-of-the-future"):
        of(server).prune(1, days=0)
    assert server.names == files


def test_a_set_is_restored_from_the_bucket_beside_the_others_and_fetched_once(
    plan: Plan, shelf: SetShelf, made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = made()
    away = tmp_path / "bucket"
    shelf.home.rename(away)
    server = Server(*(f"{backup.name}/{one.name}" for one in (away / backup.name).iterdir()), files=away)
    with pytest.raises(GroundupError, match="the site file has no bucket for backups"):
        job(plan, source="s3:newest")
    target = S3Plan(endpoint="https://s3", bucket="sets", prefix="lab/", region="", access_key="a", secret_key="b")
    plan = replace(plan, backups=BackupPlan(s3=target))
    monkeypatch.setattr(s3, "_client", lambda *_: server)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfile", lambda *_: (_ for _ in ()).throw(ValueError("it broke off")))
        with pytest.raises(GroundupError, match="it broke off"):
            job(plan, source="s3:newest")
    assert shelf.names() == []
    decided = job(plan, source="s3:newest").decide({})
    assert decided["set"] == str(shelf.home / backup.name)
    assert [one.name for one in shelf.home.iterdir()] == [backup.name]
    shutil.rmtree(away)
    assert job(plan, source=f"s3:{backup.name}").keys(), "no step after the first one asks the bucket"
    with pytest.raises(GroundupError, match=r"there is no set 20200101T000000Z in the bucket"):
        job(plan, source="s3:20200101T000000Z")
