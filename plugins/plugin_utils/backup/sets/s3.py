"""Copies of backup sets in an S3 bucket: `<prefix>/<site>/<set>/<file>`.

set.json comes last: a copy is whole or absent. All that goes there is sealed already. Files are sent piece by piece:
memory does not grow with them.
"""

from __future__ import annotations

import io
import json
import ssl
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import urllib3

from ...errors import GroundupError
from ...plan.part_types import S3Plan
from ...plan.types import Plan
from ...vault import SecretsError, Store
from ..shelf import refuse_future
from .disk import ABOUT, NAME, TESTED, SetBackup, surplus

if TYPE_CHECKING:
    from minio import Minio
    from minio.datatypes import Object as S3Object

SCHEME = "s3:"
_PART, _AT_ONCE = 16 << 20, 2  # bytes of a piece; how many are on the way, and in memory
_TIMEOUT = urllib3.Timeout(connect=15.0, read=120.0)
_UNFINISHED = timedelta(days=1)  # age of files without a set.json that count as left behind


class BucketSets:
    """The sets of a site in its bucket. Every method raises GroundupError."""

    def __init__(self, target: S3Plan, store: Store) -> None:
        """Log in with the keys of the secrets store."""
        self._target, self.where = target, f"bucket {target.bucket} at {target.endpoint}"
        self._client = _client(target, store)

    def names(self) -> list[str]:
        """Return the names of all whole sets, newest first."""
        return sorted((name for name, files in self._files().items() if ABOUT in files), reverse=True)

    def upload(self, place: Path, backup: SetBackup) -> bool:
        """Copy a set, unless the bucket has it; return whether it was copied."""
        there = self._files().get(backup.name, {})
        tested = place / TESTED
        if tested.is_file():
            self._put(backup.name, tested)
        if ABOUT in there and not self.faults(backup):
            return False
        for part in backup.parts.values():
            self._put(backup.name, place / Path(part["file"]).name)
        self._put(backup.name, place / ABOUT)
        if faults := self.faults(backup):
            raise self.lacks(backup, faults)
        return True

    def faults(self, backup: SetBackup) -> list[str]:
        """Return which parts of the copy of a set are missing, or have another size."""
        there = self._files().get(backup.name, {})
        if ABOUT not in there:
            return [f"{ABOUT} is missing"]
        return [
            f"part {name} has {there[part['file']].size if part['file'] in there else 'no'} of {part['stored']} bytes"
            for name, part in backup.parts.items()
            if part["file"] not in there or there[part["file"]].size != part["stored"]
        ]

    def prune(self, keep: int, *, days: float, now: datetime | None = None) -> list[str]:
        """Remove sets as on a disk (`disk.surplus`), and what killed uploads left; return the names of sets."""
        files, now = self._files(), now or datetime.now(UTC)
        names = sorted((name for name, one in files.items() if ABOUT in one), reverse=True)
        refuse_future(names, where=self.where, now=now)
        proven = next((name for name in names if TESTED in files[name] and self._passed(name)), None)
        gone = surplus(names, keep=keep, days=days, proven=proven, now=now)
        left = [name for name, one in files.items() if ABOUT not in one and _age(one.values(), now) > _UNFINISHED]
        for name in (*gone, *left):
            for file in sorted(files[name], key=lambda one: one != ABOUT):  # first what makes it a set
                with self._asking():
                    self._client.remove_object(self._target.bucket, self._key(name, file))
        return gone

    def choose(self, name: str) -> str:
        """Return the name of a set that is there. ``name``: or newest."""
        known = self.names()
        if name == "newest":
            refuse_future(known, where=self.where)
        chosen = known[0] if name == "newest" and known else name
        if chosen not in known:
            raise GroundupError(
                f"there is no set {name} in the bucket", where=self.where, why="there is nothing to open",
                remedy=f"name one of {', '.join(known)}" if known else "run the playbook groundup.cloud.backup",
            )  # fmt: skip
        return chosen

    def fetch(self, name: str, into: Path, *, parts: Collection[str] = ()) -> Path:
        """Copy a set, or ``parts`` of it, into the directory ``into``; return its place there. ``name``: or newest."""
        chosen = self.choose(name)
        place = into / chosen
        place.mkdir(mode=0o700, parents=True)
        self._get(chosen, ABOUT, place)
        try:
            about = json.loads((place / ABOUT).read_text(encoding="utf-8"))["parts"]
            wanted = [Path(part["file"]).name for part_name, part in about.items() if not parts or part_name in parts]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self._failed(f"{chosen}/{ABOUT} is damaged: {error}") from error
        for file in wanted:
            self._get(chosen, file, place)
        return place

    def _files(self) -> dict[str, dict[str, S3Object]]:
        found: dict[str, dict[str, S3Object]] = {}
        with self._asking():
            for one in self._client.list_objects(self._target.bucket, prefix=self._target.prefix, recursive=True):
                name, _, file = str(one.object_name).removeprefix(self._target.prefix).partition("/")
                if NAME.fullmatch(name):  # what else is there is somebody else's
                    found.setdefault(name, {})[file] = one
        return found

    def _passed(self, name: str) -> bool:
        with self._asking():
            answer = self._client.get_object(self._target.bucket, self._key(name, TESTED))
            try:
                return bool(json.loads(answer.read()).get("state") == "ok")
            except (ValueError, AttributeError):
                return False
            finally:
                answer.close()
                answer.release_conn()

    def _put(self, name: str, file: Path) -> None:
        with self._asking():
            if file.stat().st_size == 0:  # a part of no bytes is refused by some servers
                self._client.put_object(self._target.bucket, self._key(name, file.name), io.BytesIO(), 0)
                return
            self._client.fput_object(
                self._target.bucket, self._key(name, file.name), str(file), part_size=_PART,
                num_parallel_uploads=_AT_ONCE,
            )  # fmt: skip

    def _get(self, name: str, file: str, place: Path) -> None:
        with self._asking():
            self._client.fget_object(self._target.bucket, self._key(name, file), str(place / file))

    def _key(self, name: str, file: str) -> str:
        return f"{self._target.prefix}{name}/{file}"

    @contextmanager
    def _asking(self) -> Iterator[None]:
        from minio.error import MinioException

        try:
            yield
        except (MinioException, urllib3.exceptions.HTTPError, ValueError) as error:
            raise self._failed(str(error).splitlines()[0][:300]) from error

    def lacks(self, backup: SetBackup, faults: list[str]) -> GroundupError:
        """Return the error for a set whose copy is not whole."""
        return self._failed(f"the newest set {backup.name} is not whole there: {', '.join(faults)}")

    def _failed(self, what: str) -> GroundupError:
        return GroundupError(
            f"the bucket for backups does not work: {what}", where=self.where,
            why="sets are on this side alone, and lost with it (no-target-off-host)",
            remedy="see that the server answers, that the bucket exists, and that the keys may list, read, write and "
            "delete in it; then run the playbook groundup.cloud.backup, tag upload",
        )  # fmt: skip


def target_of(plan: Plan, source: str) -> S3Plan:
    """Return the bucket that ``source`` is in. Raises GroundupError when the site has none."""
    if not plan.backups.s3:
        raise GroundupError(
            "the site file has no bucket for backups", where=f"{source}; backups.s3 of the site file",
            why="it says where the bucket is", remedy="write backups.s3, or name a set by name or path",
        )  # fmt: skip
    return plan.backups.s3


def _age(files: Collection[Any], now: datetime) -> timedelta:
    return now - max((one.last_modified for one in files if one.last_modified), default=now)


def _client(target: S3Plan, store: Store) -> Minio:
    from minio import Minio  # late: only sites with a bucket need it

    try:
        access, secret = store.get(target.access_key), store.get(target.secret_key)
    except SecretsError as error:
        raise GroundupError(
            f"the secrets store lacks {target.access_key} or {target.secret_key}", where="backups.s3 of the site file",
            why="nobody but you knows the keys of the bucket: they are not generated",
            remedy="write them to a file, as secrets_given: {NAME: VALUE}, and run the playbook groundup.cloud.secrets "
            "-e @FILE",
        ) from error  # fmt: skip
    url = urlsplit(target.endpoint)
    pool = urllib3.PoolManager(
        timeout=_TIMEOUT, retries=urllib3.Retry(total=4, backoff_factor=0.5, status_forcelist=(500, 502, 503, 504)),
        ssl_context=ssl.create_default_context(), maxsize=_AT_ONCE,
    )  # fmt: skip
    return Minio(
        url.netloc, access_key=access, secret_key=secret, secure=url.scheme == "https", region=target.region,
        http_client=pool,
    )  # fmt: skip
