"""What is removed from a bucket: its server is faked, a real one is in tests/integration/ceph."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.s3 import BucketSets
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.shelf import STAMP
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

NOW = datetime(2026, 11, 28, tzinfo=UTC)
OLD, NEW = "20261101T000000Z", "20261127T000000Z"


class Server:
    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def list_objects(self, _bucket: str, *, prefix: str, recursive: bool) -> list[Any]:
        assert recursive
        aged = NOW - timedelta(days=9)
        return [SimpleNamespace(object_name=prefix + name, last_modified=aged) for name in self.names]

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
