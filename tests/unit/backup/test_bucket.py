"""What is removed from a bucket: its server is faked, a real one is in tests/integration/ceph."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.s3 import BucketSets

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


def test_what_is_no_set_is_neither_told_nor_removed() -> None:
    ours = [f"{NEW}/set.json", f"{NEW}/etcd.sealed", f"{OLD}/etcd.sealed"]
    theirs = ["photos/cat.jpg", "photos/set.json", "20261101T000000Z-copy/etcd.sealed", "letter.txt"]
    bucket = BucketSets.__new__(BucketSets)
    bucket._client = server = Server(*ours, *theirs)  # type: ignore[assignment]
    bucket._target, bucket.where = SimpleNamespace(bucket="sets", prefix="lab/"), "a test"  # type: ignore[assignment]
    assert bucket.names() == [NEW]
    assert bucket.prune(14, days=0, now=NOW) == []
    assert sorted(server.names) == sorted([*ours[:2], *theirs]), "what a killed upload left goes, and nothing else"
