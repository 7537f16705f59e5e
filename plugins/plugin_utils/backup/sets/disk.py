"""Backup sets on disk: a directory named by its time, with `set.json` and one sealed file a part.

A set is written under another name and renamed when it is whole: what a killed run leaves does not look like a set, and
the next run removes it. A set that is removed is renamed first. Several controllers may use one directory: each removes
its own remains, and those of others after a day without a change.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import socket
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ....module_utils._base.files import write_file
from ...errors import GroundupError
from ...paths import state_dir
from ...vault import Store
from ..part import SealedBackup
from ..shelf import STAMP, Shelf, refuse_future
from .seal import SealError, opened

ABOUT, TESTED, UPLOADED, SUFFIX = "set.json", "tested.json", "uploaded.json", ".sealed"
ENVELOPE = ("file", "sha256", "stored", "size", "taken", "source")  # what set.json says of each part
PLAYBOOK = "groundup.cloud.backup"
NAME = re.compile(r"\d{8}T\d{6}Z")
WRITING, _REMOVING = ".partial-", ".removed-"
_ABANDONED = 86400.0  # seconds without a change until what another controller began counts as left behind


@dataclass(frozen=True, slots=True, kw_only=True)
class SetBackup(SealedBackup):
    """Description of a set. ``sha256`` is of the digests of all parts, ``size`` of all their files."""

    key: str  # of the parts, encrypted with the password of the secrets store
    parts: dict[str, dict[str, Any]]  # each has ENVELOPE; size: of the content
    versions: dict[str, str]
    heads: dict[str, str]  # schema of a database -> its migration
    fingerprints: dict[str, str]  # of the secrets, by name


@dataclass(frozen=True, slots=True, kw_only=True)
class SetShelf(Shelf[SetBackup]):
    """The sets of a site."""

    def names(self) -> list[str]:
        """Return the names of all sets, newest first."""
        found = self.home.iterdir() if self.home.is_dir() else ()
        return sorted((one.name for one in found if NAME.fullmatch(one.name) and one.is_dir()), reverse=True)

    def prune(self, keep: int, *, days: float = 0.0, now: datetime | None = None) -> list[str]:
        """Remove the sets of `surplus`; return their names."""
        names = self.names()
        proven = next((name for name in names if (tested(self.home / name) or {}).get("state") == "ok"), None)
        gone = surplus(names, keep=keep, days=days, proven=proven, now=now)
        for name in gone:
            away = self.home / f"{_REMOVING}{name}{writer_of(self.home)}"
            with suppress(FileNotFoundError):  # another controller was faster
                (self.home / name).rename(away)
                shutil.rmtree(away)
        return gone

    def remains(self) -> list[Path]:
        """Return what killed runs of this controller left, and what others left behind."""
        found = self.home.iterdir() if self.home.is_dir() else ()
        left, mine = [one for one in found if one.name.startswith((WRITING, _REMOVING))], writer_of(self.home)
        return sorted(one for one in left if one.name.endswith(mine) or _abandoned(one))

    def find(self, name: str) -> tuple[SetBackup, Path]:
        """Return a set and its directory. ``name``: of a set, ``newest``, or a path. Raises GroundupError."""
        known = self.names()
        if name == "newest":
            refuse_future(known, where=str(self.home))
        place = Path(name) if "/" in name else self.home / (known[0] if name == "newest" and known else name)
        if not (place / ABOUT).is_file():
            if name in known or (name == "newest" and known):
                raise self.damaged(str(place), f"it has no {ABOUT}")
            raise GroundupError(
                f"there is no backup set {name}" if name != "newest" else "there is no backup set yet",
                where=str(place if "/" in name else self.home),
                why="nothing can be restored, nor verified",
                remedy=f"name one of {', '.join(known)}" if known else f"run the playbook {self.playbook}",
            )
        try:
            backup = self.kind(**json.loads((place / ABOUT).read_text(encoding="utf-8")))
            backup.taken  # noqa: B018 - raises ValueError for a name that is no time
            for part in backup.parts.values():
                datetime.fromisoformat(part["taken"])
                _ = [part[field] for field in ENVELOPE]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise self.damaged(str(place / ABOUT), f"{type(error).__name__}: {error}") from error
        return backup, place

    def check(self, backup: SetBackup, place: Path, parts: Collection[str] | None = None) -> list[str]:
        """Read all parts and compare their digests. Raises GroundupError for damaged ones of ``parts``, None: of all.

        Returns a warning of the others.
        """
        found = dict[str, str]()
        for name, part in backup.parts.items():
            try:
                with (place / Path(part["file"]).name).open("rb") as stream:
                    if hashlib.file_digest(stream, "sha256").hexdigest() != part["sha256"]:
                        found[name] = f"part {name} has another SHA-256 than {ABOUT} says"
            except FileNotFoundError:
                found[name] = f"part {name} is missing"
            except OSError as error:
                found[name] = f"part {name} cannot be read: {error.strerror}"
        if named := [fault for name, fault in found.items() if parts is None or name in parts]:
            raise self.damaged(str(place), "; ".join(named))
        told = (
            f"the backup set is damaged (backup-damaged): {'; '.join(found.values())}: these cannot be restored from it"
        )
        return [told] if found else []

    def refuse_other(self, backup: SetBackup, *, site: str, place: Path) -> None:
        """Raise GroundupError for a set of another site."""
        if backup.site != site:
            raise GroundupError(
                f"the set {backup.name} is of the site {backup.site} (backup-of-another-site)",
                where=str(place), why=f"nothing of it belongs to the site {site}",
                remedy="name a set of this site, or use that site's file",
            )  # fmt: skip

    def content(self, backup: SetBackup, place: Path, part: str, *, store: Store) -> Iterator[bytes]:
        """Yield the content of a part. Raises GroundupError; then what was yielded before is not to be used."""
        try:
            about = backup.parts[part]
        except KeyError:
            raise GroundupError(
                f"the set {backup.name} has no part {part}", where=str(place), why="it cannot be opened",
                remedy=f"name one of {', '.join(backup.parts)}",
            ) from None  # fmt: skip
        file = place / Path(about["file"]).name
        key = base64.b64decode(store.unseal(backup.key.encode(), where=f"{place / ABOUT}, field key"))
        try:
            with file.open("rb") as stream:
                yield from opened(stream, key=key, label=label(backup.site, backup.name, part))
        except FileNotFoundError:
            raise self.damaged(str(file), f"part {part} is missing") from None
        except SealError as error:
            raise self.damaged(str(file), f"part {part}: {error}") from error

    def damaged(self, where: str, what: str) -> GroundupError:
        """Return the error for a damaged set."""
        return GroundupError(
            f"the backup set is damaged (backup-damaged): {what}", where=where, why=self.partial,
            remedy=f"use an older set; take a new one with the playbook {self.playbook}",
        )  # fmt: skip


def surplus(
    names: Sequence[str], *, keep: int, days: float, proven: str | None, now: datetime | None = None
) -> list[str]:
    """Return which sets of ``names``, newest first, are removed: beyond ``keep``, or older than ``days`` (0: none).

    Never the newest; nor ``proven``, the newest that passed its restore test: those after it may all be bad. Nor by
    age those before a gap longer than ``days``: a clock that is ahead, or a timer that was off, makes all old at once.
    """
    period, ages, before = timedelta(days=days), set[str](), now or datetime.now(UTC)
    oldest = before - period
    for name in names if days > 0 else ():
        taken = datetime.strptime(name, STAMP).replace(tzinfo=UTC)
        if before - taken > period:
            break
        ages |= {name} if taken < oldest else set()
        before = taken
    late = [name for number, name in enumerate(names) if (keep > 0 and number >= keep) or name in ages]
    return [name for name in late if name not in (names[0], proven)]


def writer_of(home: Path) -> str:
    """Return what ends the names of what this controller, by this state directory, has not finished."""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        machine = str(uuid.getnode())
    mine = f"{machine} {socket.gethostname()} {state_dir(home.name)}"
    return f"-{hashlib.sha256(mine.encode()).hexdigest()[:12]}"


def _abandoned(place: Path) -> bool:
    try:
        newest = max(one.stat().st_mtime for one in (place, *place.iterdir()))
    except FileNotFoundError:  # its own controller removes it just now
        return False
    return time.time() - newest > _ABANDONED


def default_home(site: str) -> Path:
    """Return where sets are without a directory of their own: beside what they are to save."""
    return state_dir(site) / "backups" / "sets"


def shelf_of(site: str, directory: str | None) -> SetShelf:
    """Return the sets of ``site``, in ``directory`` or the default place."""
    return SetShelf(
        kind=SetBackup, home=Path(directory).expanduser() / site if directory else default_home(site), suffix=SUFFIX,
        subject="the cluster and its databases", playbook=PLAYBOOK, unsaved="what was made since is in none",
        partial="a part that does not open, or is not whole, restores nothing", place="", replaces="", consent="",
    )  # fmt: skip


def write_tested(place: Path, result: Mapping[str, Any]) -> None:
    """Keep the result of a restore test beside the set."""
    write_file(place / TESTED, (json.dumps(result, sort_keys=True, indent=1) + "\n").encode(), mode=0o600)


def write_uploaded(place: Path, where: str) -> None:
    """Note beside a set that it was copied to the bucket ``where``."""
    said = {"where": where, "time": datetime.now(UTC).isoformat(timespec="seconds")}
    write_file(place / UPLOADED, (json.dumps(said) + "\n").encode(), mode=0o600)


def tested(place: Path) -> dict[str, Any] | None:
    """Return the result of the last restore test of a set, None when there was none, or it cannot be read."""
    try:
        return dict(json.loads((place / TESTED).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def label(site: str, name: str, part: str) -> str:
    return f"{site}/{name}/{part}"
