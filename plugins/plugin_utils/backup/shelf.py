"""Backups in a site's state directory: complete or absent, identified by time and digest.

A backup is two files named after its time: the data, and its description (`ABOUT`). The description is written last
and removed first, so a backup exists only when both files do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

from ...module_utils._base.files import write_file
from ..errors import GroundupError

ABOUT = ".json"
STAMP = "%Y%m%dT%H%M%SZ"
AHEAD = timedelta(minutes=5)  # that the clock of another control node may be ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """Description of a backup of any kind."""

    name: str  # the time it was taken
    site: str
    sha256: str  # of the data file
    size: int  # of the data file, bytes
    counts: dict[str, int]  # kind of content -> number

    @property
    def taken(self) -> datetime:
        """The time it was taken."""
        return datetime.strptime(self.name, STAMP).replace(tzinfo=UTC)

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(f'{number} {what}' for what, number in self.counts.items())})"


def refuse_future(names: Collection[str], *, where: str, now: datetime | None = None) -> None:
    """Raise GroundupError for a backup of later than now: it would be the newest for good, and those after it old."""
    latest = ((now or datetime.now(UTC)) + AHEAD).strftime(STAMP)
    if late := [name for name in names if name > latest]:
        raise GroundupError(
            f"{', '.join(late)}: the time of this backup has not come yet (backup-of-the-future)", where=where,
            why="a clock was ahead, or this machine's is behind: which is the newest is not known",
            remedy="set this machine's clock right; if it is right, move that backup elsewhere",
        )  # fmt: skip


Kind = TypeVar("Kind", bound=Backup)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf(Generic[Kind]):
    """The backups of one subject, and the words for its errors."""

    kind: Callable[..., Kind]
    home: Path
    suffix: str  # of data files
    subject: str
    playbook: str  # that takes a backup
    unsaved: str  # what is in no backup when the newest is too old
    partial: str  # effect of restoring a damaged backup
    place: str  # what a restore writes to
    replaces: str  # what a restore replaces
    consent: str  # variable of the playbook that accepts reasons against a restore

    def keep(self, data: bytes, *, now: datetime | None = None, **about: Any) -> Kind:
        """Write ``data`` and its description. Return the description. Raises OSError."""
        backup = self.kind(
            name=(now or datetime.now(UTC)).strftime(STAMP),
            sha256=hashlib.sha256(data).hexdigest(),
            size=len(data),
            **about,
        )
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(self.home / f"{backup.name}{self.suffix}", data, mode=0o600)
        text = json.dumps(asdict(backup), sort_keys=True, indent=1) + "\n"
        write_file(self.home / f"{backup.name}{ABOUT}", text.encode(), mode=0o600)
        return backup

    def prune(self, keep: int) -> list[str]:
        """Remove all but the newest ``keep`` (0: none), and halves of killed runs. Return the removed names."""
        gone = self.names()[keep:] if keep > 0 else []
        for name in gone:
            (self.home / f"{name}{ABOUT}").unlink()
        whole = set(self.names())
        for path in self.home.glob(f"*{self.suffix}"):
            if path.name.removesuffix(self.suffix) not in whole:
                path.unlink()
        return gone

    def names(self) -> list[str]:
        """Return the names of all backups, newest first."""
        return sorted((path.name.removesuffix(ABOUT) for path in self.home.glob(f"*{ABOUT}")), reverse=True)

    def load(self, name: str) -> tuple[Kind, bytes]:
        """Return a backup and its data, after checking its digest. Raises GroundupError.

        Args:
            name: of a backup, ``newest``, or the path of a backup's `ABOUT` file elsewhere.
        """
        known = self.names()
        if name == "newest":
            refuse_future(known, where=str(self.home))
        newest = known[0] if name == "newest" and known else name
        about = Path(name) if "/" in name else self.home / f"{newest}{ABOUT}"
        if not about.is_file():
            raise GroundupError(
                f"there is no backup {name}",
                where=str(about),
                why="nothing can be restored, nor verified",
                remedy=f"name one of {', '.join(known)}" if known else f"run the playbook {self.playbook}",
            )
        try:
            backup = self.kind(**json.loads(about.read_text(encoding="utf-8")))
            data = about.with_name(about.name.removesuffix(ABOUT) + self.suffix).read_bytes()
            backup.taken  # noqa: B018 - raises ValueError for a name that is no time
        except (ValueError, TypeError, FileNotFoundError) as error:
            raise self.damaged(str(about), str(error)) from error
        if hashlib.sha256(data).hexdigest() != backup.sha256:
            raise self.damaged(str(about), "its SHA-256 is another")
        return backup, data

    def refuse_old(self, backup: Kind, *, days: float, now: datetime | None = None) -> None:
        """Raise GroundupError when ``backup``, the newest one, is older than ``days``."""
        age = (now or datetime.now(UTC)) - backup.taken
        if age > timedelta(days=days):
            raise GroundupError(
                f"the newest backup of {self.subject} is {age.days} days old",
                where=str(self.home),
                why=f"{self.unsaved}; it may be {days:g} days old",
                remedy=f"run the playbook {self.playbook}, each night by cron",
            )

    def refuse(
        self, backup: Kind, *, site: str, wrong: Mapping[str, str], against: Mapping[str, str], force: Collection[str]
    ) -> None:
        """Raise GroundupError when a backup must not be restored in ``site``, or needs consent that is missing.

        Args:
            backup: the one to restore.
            site: name of the site.
            wrong: reasons that no consent overrides -> remedy.
            against: reasons that an operator can accept, by code.
            force: accepted codes.
        """
        if backup.site != site:
            raise self.refused(backup, f"it is of the site {backup.site}", remedy="name a backup of this site")
        for what, remedy in wrong.items():
            raise self.refused(backup, what, remedy=remedy)
        if missing := [said for code, said in against.items() if code not in force]:
            accepting = json.dumps({self.consent: list(against)})
            raise self.refused(backup, "; ".join(missing), remedy=f"accept it with -e '{accepting}'")

    def refused(self, backup: Kind, what: str, *, remedy: str) -> GroundupError:
        """Return the error for a backup that is not restored."""
        return GroundupError(
            f"the backup {backup.name} is not restored: {what}",
            where=f"{self.place}; the backup is {backup}",
            why=f"what is restored takes the place of everything that {self.replaces}; nothing was changed",
            remedy=remedy,
        )

    def summary(self, backup: Kind) -> dict[str, Any]:
        """Return the backup's description for a task result."""
        return asdict(backup) | {"file": str(self.home / f"{backup.name}{self.suffix}")}

    def damaged(self, where: str, what: str) -> GroundupError:
        """Return the error for a damaged backup."""
        return GroundupError(f"the backup is damaged: {what}", where=where, why=self.partial, remedy="name another one")
