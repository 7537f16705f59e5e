"""Write a backup set: whole, or nothing; alone on this machine, and never while a restore is under way."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from ....module_utils._base.files import sync, write_file
from ....module_utils._base.locks import locked
from ...errors import GroundupError
from ...paths import state_dir
from ...vault import Store
from ..restore import journal
from ..shelf import STAMP
from .disk import ABOUT, PLAYBOOK, SUFFIX, WRITING, SetBackup, SetShelf, label, writer_of
from .seal import Sealer, new_key

_WAIT = 5.0  # seconds for a run that ends
_MIB = 1 << 20
Fill = Callable[[Callable[[bytes], object]], Mapping[str, Any]]


class SetWriter:
    """Writes one set. Parts are sealed while they are read; `finish` makes the set one."""

    def __init__(self, shelf: SetShelf, *, site: str, store: Store, now: datetime) -> None:
        """Make the directory. Raises GroundupError."""
        self._shelf, self._site, self._store = shelf, site, store
        self.name, self._key = now.strftime(STAMP), new_key()
        self._place = shelf.home / f"{WRITING}{self.name}{writer_of(shelf.home)}"
        self._parts: dict[str, dict[str, Any]] = {}
        if (shelf.home / self.name).exists():
            raise GroundupError(
                f"there is a set {self.name} already", where=str(shelf.home), why="two sets cannot have one time",
                remedy="wait a second",
            )  # fmt: skip
        new = [one for one in (shelf.home, *shelf.home.parents) if not one.exists()]
        with self._room("its directory"):
            self._place.mkdir(mode=0o700, parents=True)
            for one in new:
                sync(one.parent)

    def part(self, name: str, fill: Fill, *, source: str) -> Mapping[str, Any]:
        """Write a part. ``fill`` writes its content and returns what set.json says of it, beside its digest.

        Raises GroundupError, also within ``fill``: a transport would take a full disk for its own error.
        """
        file = self._place / f"{name}{SUFFIX}"
        taken = datetime.now(UTC).isoformat(timespec="seconds")
        with self._file(file, name) as stream:
            sealer = Sealer(stream, key=self._key, label=label(self._site, self.name, name))

            def write(data: bytes) -> None:
                with self._room(f"part {name}"):
                    sealer.write(data)

            facts = fill(write)
            with self._room(f"part {name}"):
                sealer.close()
        self._parts[name] = {
            "file": file.name, "sha256": sealer.sha256, "stored": sealer.stored, "size": sealer.size, "taken": taken,
            "source": source, **facts,
        }  # fmt: skip
        return facts

    def finish(self, *, versions: Mapping[str, str], heads: Mapping[str, str], counts: Mapping[str, int],
               fingerprints: Mapping[str, str]) -> SetBackup:  # fmt: skip
        """Describe the set, and give it its name. Raises GroundupError."""
        digests = "".join(part["sha256"] for _, part in sorted(self._parts.items()))
        backup = SetBackup(
            name=self.name, site=self._site, store=self._store.identity,
            sha256=hashlib.sha256(digests.encode()).hexdigest(),
            size=sum(part["stored"] for part in self._parts.values()), counts=dict(counts),
            key=self._store.seal(base64.b64encode(self._key)).decode(), parts=self._parts, versions=dict(versions),
            heads=dict(heads), fingerprints=dict(fingerprints),
        )  # fmt: skip
        text = json.dumps(asdict(backup), sort_keys=True, indent=1) + "\n"
        with self._room(ABOUT):
            write_file(self._place / ABOUT, text.encode(), mode=0o600)
            sync(self._place)
            self._place.rename(self._shelf.home / self.name)
            sync(self._shelf.home)
        return backup

    @contextmanager
    def _file(self, file: Path, part: str) -> Iterator[BinaryIO]:
        """Yield a new file, which is on the disk afterwards."""
        with self._room(f"part {part}"):
            stream = os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")
        try:
            yield stream
            with self._room(f"part {part}"):
                stream.flush()
                os.fsync(stream.fileno())
        finally:
            with suppress(OSError):  # what could not be written cannot be at the end either, and was told
                stream.close()

    @contextmanager
    def _room(self, what: str) -> Iterator[None]:
        """Tell an error of the disk that sets are on as one."""
        try:
            yield
        except OSError as error:
            raise GroundupError(
                f"{what} of the set {self.name} cannot be written: {error.strerror or error}{_free(self._shelf.home)}",
                where=str(self._shelf.home), why="no set was made; the sets from before are as they were",
                remedy=f"make room there, or lower backups.keep and remove old sets; then run the playbook {PLAYBOOK}",
            ) from error  # fmt: skip


@contextmanager
def alone(site: str) -> Iterator[None]:
    """Hold what a backup has while it writes, and a restore while it begins. Raises GroundupError."""
    lock = state_dir(site) / ".backup.lock"
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with locked(lock, timeout=_WAIT):
            yield
    except TimeoutError as error:
        raise GroundupError(
            "another backup of this site runs on this machine", where=str(lock),
            why="one would remove or replace what the other reads and writes", remedy="wait until it has ended",
        ) from error  # fmt: skip


@contextmanager
def undisturbed(site: str) -> Iterator[None]:
    """Be `alone`, while no restore is under way. Raises GroundupError."""
    with alone(site):
        journal.refuse_beside(site, why=journal.NO_SET)
        yield


@contextmanager
def writing(shelf: SetShelf, *, site: str, store: Store, now: datetime | None = None) -> Iterator[SetWriter]:
    """Yield a writer, alone on this machine, after the remains of killed runs are removed. Raises GroundupError."""
    with undisturbed(site):
        _clear(shelf)
        try:
            yield SetWriter(shelf, site=site, store=store, now=now or datetime.now(UTC))
        finally:  # an error, too, leaves nothing
            _clear(shelf)


def _clear(shelf: SetShelf) -> None:
    for left in shelf.remains():
        shutil.rmtree(left)


def _free(home: Path) -> str:
    try:
        found = shutil.disk_usage(home)
    except OSError:
        return ""
    return f" ({found.free // _MIB} of {found.total // _MIB} MiB are free)"
