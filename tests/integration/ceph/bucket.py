"""What a control node does with a bucket, run where the test's object gateway is: prints one JSON line.

Usage: bucket.py SITE_FILE DIRECTORY ENDPOINT. The keys are in the environment.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import (
    SetBackup,
    shelf_of,
    write_tested,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.s3 import BucketSets
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import writing
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import S3Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

SIZE = 80 << 20  # bytes of a part that no compression makes smaller
NOW = datetime(2026, 3, 28, 2, 0, tzinfo=UTC)  # of the first set; all are of the past


def main(site_file: str, directory: str, endpoint: str) -> dict[str, Any]:
    """Upload sets, look at them, remove old ones, open one."""
    site = make_plan(load_site(Path(site_file))).site
    store, shelf = open_store(site), shelf_of(site, directory)
    store.take({"backups/s3-access-key": os.environ["ACCESS"], "backups/s3-secret-key": os.environ["SECRET"]})
    target = S3Plan(endpoint=endpoint, bucket="sets", prefix=f"groundup/{site}/", region="us-east-1",
                    access_key="backups/s3-access-key", secret_key="backups/s3-secret-key")  # fmt: skip
    bucket, told = BucketSets(target, store), dict[str, Any]()

    def make(day: int, size: int = 100) -> SetBackup:
        def fill(write: Callable[[bytes], object]) -> Mapping[str, Any]:
            for _ in range(max(1, size >> 20)):
                write(os.urandom(min(size, 1 << 20)))
            return {}

        def word(write: Callable[[bytes], object]) -> Mapping[str, Any]:
            write(b"state")
            return {}

        with writing(shelf, site=site, store=store, now=NOW + timedelta(days=day)) as writer:
            writer.part("etcd", fill, source="a test")
            writer.part("state", word, source="a test")
            return writer.finish(versions={}, heads={}, counts={}, fingerprints={})

    def failed(work: Callable[[], object]) -> str:
        try:
            work()
        except GroundupError as error:
            return str(error)
        return ""

    first = make(0, SIZE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told["uploaded"] = [bucket.upload(shelf.home / first.name, first) for _ in range(2)]
    told["grown"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    write_tested(shelf.home / first.name, {"state": "ok"})
    bucket.upload(shelf.home / first.name, first)
    others = [make(day) for day in (1, 2, 3)]
    for one in others:
        bucket.upload(shelf.home / one.name, one)
    told["names"], told["faults"] = bucket.names(), bucket.faults(first)
    bucket._client.remove_object("sets", f"groundup/{site}/{others[2].name}/etcd.sealed")
    told["torn"] = bucket.faults(others[2])
    told["again"] = bucket.upload(shelf.home / others[2].name, others[2])
    told["pruned"], told["left"] = bucket.prune(2, days=0, now=NOW + timedelta(days=3)), bucket.names()
    fetched = bucket.fetch("newest", Path(directory) / "fetched", parts=["state"])
    backup, place = shelf.find(str(fetched))
    told["content"] = b"".join(shelf.content(backup, place, "state", store=store)).decode()
    told["only"] = sorted(one.name for one in fetched.iterdir())
    told["unknown"] = failed(lambda: bucket.fetch("20200101T000000Z", Path(directory)))
    told["no bucket"] = failed(BucketSets(S3Plan(**{**_fields(target), "bucket": "none"}), store).names)
    told["nobody"] = failed(BucketSets(S3Plan(**{**_fields(target), "endpoint": "http://127.0.0.1:9"}), store).names)
    store.take({"backups/s3-secret-key": "another"}, replacing=["backups/s3-secret-key"])
    told["refused"] = failed(BucketSets(target, store).names)
    return told


def _fields(target: S3Plan) -> dict[str, str]:
    return {name: getattr(target, name) for name in ("endpoint", "bucket", "prefix", "region", "access_key",
                                                     "secret_key")}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
