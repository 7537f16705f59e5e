"""What all parts of a site that are backed up have in common: save, verify the newest, check against it, restore."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from ...module_utils._base.consent import refuse_unknown
from ..plan.types import Plan
from ..vault import open_store
from .shelf import Backup, Kind, Shelf, refuse_future

Content = TypeVar("Content")
OnHost = Callable[..., dict[str, Any]]


class BackupPart(ABC, Generic[Kind, Content]):
    """One part. A subclass says where its backups are, how their data are read, and what speaks against a restore.

    Its steps ``take``, ``check`` and ``restore`` run on the host of the task. Each returns a result with what is there
    now; ``take`` adds the data as base64 text ``content``, and ``restore`` gets them so. ``leader: false`` in a result
    says that another host does the work.
    """

    name: ClassVar[str]  # of the part, in a set too
    codes: ClassVar[tuple[str, ...]] = ()  # of reasons against a restore that an operator may accept

    def __init__(self, plan: Plan, on_host: OnHost) -> None:
        """Take the plan of the site, and what runs a step on the host: ``on_host(step, **options)``."""
        self.plan, self.on_host = plan, on_host
        self._file: dict[str, str] = {}  # of what was loaded from a set

    @abstractmethod
    def shelf(self) -> Shelf[Kind]:
        """Return the site's backups."""

    @abstractmethod
    def parse(self, data: bytes, *, where: str) -> Content:
        """Return what ``data`` contain. Raises GroundupError for damaged ones."""

    @abstractmethod
    def about(self, content: Content, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return counts and further metadata of a backup, from its content and the result of ``take``."""

    @abstractmethod
    def reasons(
        self, backup: Kind, content: Content, found: Mapping[str, Any]
    ) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return what speaks against a restore, from what is there now: as `Shelf.refuse` takes it.

        First reasons that nothing overrides, each with its remedy; then those to accept, by their code.
        """

    def options(self) -> dict[str, Any]:
        """Return options that every step on the host gets."""
        return {}

    def refuse_lost(self, found: Mapping[str, Any]) -> None:
        """Raise GroundupError for a state that must not become a backup."""

    @abstractmethod
    def replaced(self, found: Mapping[str, Any]) -> Shelf[Kind] | None:
        """Return where what a restore replaces is saved, apart from backups; None: there is nothing to save.

        A restore that was killed is run again, and takes the newest backup.
        """

    def advice(self, backup: Kind, content: Content) -> dict[str, Any]:  # noqa: ARG002  # a part's own look at it
        """Return what an operator must know before and after a restore, as fields of the result."""
        return {}

    def seal(self, data: bytes) -> tuple[bytes, dict[str, Any]]:
        """Return the data as they are stored, and what the metadata say of that."""
        return data, {}

    def unseal(self, backup: Kind, stored: bytes) -> bytes:  # noqa: ARG002  # a sealed part's look at it
        """Return the data of a stored backup. Raises GroundupError."""
        return stored

    def save(
        self, data: bytes, found: Mapping[str, Any], *, now: datetime | None = None, shelf: Shelf[Kind] | None = None
    ) -> Kind:
        """Store a backup; return its metadata. Raises GroundupError for damaged data, OSError."""
        shelf = shelf or self.shelf()
        content = self.parse(data, where=f"what was read of {shelf.subject}")
        stored, sealed = self.seal(data)
        return shelf.keep(stored, now=now, site=self.plan.site, **sealed, **self.about(content, found))

    def load(self, name: str) -> tuple[Kind, Content, bytes]:
        """Return metadata, content and data of a backup. Raises GroundupError.

        ``name``: as in `Shelf.load`; or a set's name or path. The newest is that of all backups and sets.
        """
        if found := self._of_set(name):
            return found
        backup, stored = self.shelf().load(name)
        data = self.unseal(backup, stored)
        return backup, self.parse(data, where=f"the backup {backup.name}"), data

    def _of_set(self, name: str) -> tuple[Kind, Content, bytes] | None:
        from .sets.disk import ABOUT, ENVELOPE, shelf_of  # late: a set is made of parts

        sets, own = shelf_of(self.plan.site, self.plan.backup_directory), self.shelf().names()
        if name == "newest":
            name = next(iter(sets.names()), "")
            refuse_future([name], where=str(sets.home))
            if not name or (own and own[0] >= name) or self.name not in sets.find(name)[0].parts:
                return None
        elif not (Path(name) / ABOUT).is_file() if "/" in name else name in own or name not in sets.names():
            return None
        backup, place = sets.find(name)
        data = b"".join(sets.content(backup, place, self.name, store=open_store(self.plan.site, write=False)))
        about = backup.parts[self.name]
        facts = {field: value for field, value in about.items() if field not in ENVELOPE} | self.envelope(backup)
        self._file = {"file": str(place / about["file"])}
        kept = self.shelf().kind(
            name=backup.name, site=backup.site, sha256=about["sha256"], size=about["stored"], **facts
        )  # fmt: skip
        return kept, self.parse(data, where=f"part {self.name} of the set {backup.name}"), data

    def envelope(self, backup: SealedBackup) -> dict[str, Any]:  # noqa: ARG002  # a sealed part's look at it
        """Return what the metadata of a part of the set ``backup`` say beside `about`."""
        return {}

    def _summary(self, backup: Kind) -> dict[str, Any]:
        return self.shelf().summary(backup) | self._file

    def verify(self, *, days: float, now: datetime | None = None) -> dict[str, Any]:
        """Return the newest backup. Raises GroundupError when it is damaged, or older than ``days``."""
        backup, _, _ = self.load("newest")
        self.shelf().refuse_old(backup, days=days, now=now)
        return {"changed": False, "backup": self._summary(backup)}

    def take(self, *, keep: int) -> dict[str, Any]:
        """Save what is there, and remove all but the newest ``keep`` backups (0: none)."""
        refuse_future(self.shelf().names(), where=str(self.shelf().home))
        now = datetime.now(UTC)  # before: what happens meanwhile may not be in it
        done = self._run("take")
        if _works(done):
            self.refuse_lost(done)
        return self._kept(done, self.shelf(), keep=keep, now=now)

    def restore(self, *, source: str, force: Collection[str], go: bool) -> dict[str, Any]:
        """Restore the backup ``source``, and save what it replaces before; without ``go`` only check that it could be.

        Raises GroundupError when a reason speaks against it that ``force`` does not accept.
        """
        refuse_unknown("a restore", force, self.codes, variable=self.shelf().consent)
        backup, content, data = self.load(source)
        done = self._run("check")
        if not _works(done):
            return done
        wrong, against = self.reasons(backup, content, done)
        self.shelf().refuse(backup, site=self.plan.site, wrong=wrong, against=against, force=force)
        if go:
            before = self._save_replaced(done)
            if not _works(before):
                return before
            done = self._run("restore", content=base64.b64encode(data).decode(), source=backup.name)
            done["changes"] = [*before.get("changes", ()), *done.get("changes", ())]
            if not _works(done):
                return done
        return done | {"backup": self._summary(backup), **self.advice(backup, content)}

    def _run(self, step: str, **more: Any) -> dict[str, Any]:
        return self.on_host(step, **self.options(), **more)

    def _save_replaced(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Save just before what is replaced. None is removed: one of them may be what is restored."""
        if not (shelf := self.replaced(found)):
            return {}
        now = datetime.now(UTC)
        return self._kept(self._run("take"), shelf, keep=0, now=now)

    def _kept(self, done: dict[str, Any], shelf: Shelf[Kind], *, keep: int, now: datetime) -> dict[str, Any]:
        if packed := done.pop("content", ""):
            backup = self.save(base64.b64decode(packed), done, now=now, shelf=shelf)
            done["changes"] += [f"remove the backup {name}" for name in shelf.prune(keep)]
            done["backup"] = shelf.summary(backup)
        return done


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedBackup(Backup):
    """Metadata of a backup that is encrypted like the secrets store."""

    store: str  # identity of the secrets store whose password decrypts it


Sealed = TypeVar("Sealed", bound=SealedBackup)


class SealedPart(BackupPart[Sealed, Content]):
    """A part with secrets: its backups are encrypted with the password of the site's secrets store."""

    def seal(self, data: bytes) -> tuple[bytes, dict[str, Any]]:
        """Return the encrypted data, and whose password opens them."""
        store = open_store(self.plan.site, write=False)
        return store.seal(data), {"store": store.identity}

    def envelope(self, backup: SealedBackup) -> dict[str, Any]:
        """Return whose password opens it."""
        return {"store": backup.store}

    def unseal(self, backup: Sealed, stored: bytes) -> bytes:
        """Return the decrypted data. Raises GroundupError for a backup of another secrets store."""
        store = open_store(self.plan.site, write=False)
        if backup.store != store.identity:
            what = f"it is of the site {backup.site} with another secrets store"
            raise self.shelf().refused(backup, what, remedy="name one of this site")
        return store.unseal(stored, where=f"the backup {backup.name}")


def _works(done: Mapping[str, Any]) -> bool:
    """Whether the step succeeded on a host that does the work."""
    return not done.get("failed") and bool(done.get("leader", True))
