"""The steps of module backup_set: take, test, verify, open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ....module_utils._base.changes import Changes
from ...errors import GroundupError
from ...kube.access import kubeconfig_path
from ...kube.client import Api
from ...kube.piped import Container
from ...plan.part_types import S3Plan
from ...plan.types import Plan
from ...vault import open_lost, open_store
from ..logs import job as logs_job
from ..logs import replay
from ..logs.disk import LogShelf
from ..restore import journal
from ..shelf import STAMP, refuse_future
from . import mariadb, scratch, take, target
from .disk import SetBackup, SetShelf, shelf_of, tested, write_tested, write_uploaded
from .parts import FILES, MARIADB, lacking, parts
from .places import exposed
from .read_test import ReadTest
from .s3 import SCHEME, BucketSets, target_of
from .write import undisturbed


def site_shelf(plan: Plan, directory: str = "") -> SetShelf:
    """Return the sets of a site: in ``directory``, in that of the site file, or in the state directory."""
    return shelf_of(plan.site, directory or plan.backup_directory)


class BackupJob:
    """One run's work with the sets of a site."""

    def __init__(self, plan: Plan, given: Mapping[str, Any], changes: Changes) -> None:
        """Take the module's options."""
        self._plan, self._given, self._changes = plan, given, changes
        self._shelf = site_shelf(plan, given["directory"])

    def take(self, said: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Save a set, with what hosts handed over, by host; in check mode only look. Raises GroundupError."""
        journal.refuse_beside(self._plan.site, why=journal.NO_SET)
        target.refuse_away(self._plan.site, self._shelf.home)
        refuse_future(self._shelf.names(), where=str(self._shelf.home))
        logs, site_file = LogShelf(self._shelf.home), self._given["site_file"]
        warnings = exposed(self._plan, self._shelf)
        member = ""
        with _spared(warnings):
            member = logs.member
        sources = take.Sources.find(self._plan, site_file=site_file, said=said, member=member)
        if not self._changes.add(f"save {', '.join(parts(self._plan))} below {self._shelf.home}"):
            return self._changes.result() | {"found": take.survey(sources), "warnings": warnings}
        target.remember(self._plan.site, self._shelf.home)
        backup = take.take(sources, self._shelf)
        keep, days = self._keep

        def old() -> Iterator[str]:
            yield from (f"remove the set {name}" for name in self._shelf.prune(keep, days=days))
            oldest = datetime.strptime(self._shelf.names()[-1], STAMP).replace(tzinfo=UTC)
            with _spared(warnings):
                saved = (self._shelf.find(name)[0].parts.get(MARIADB) or {} for name in self._shelf.names())
                ends = [replay.end(part) for part in saved if part.get("log")]
                yield from (f"remove the binary log {name}" for name in logs.prune(oldest, ends))

        self._remove(old, warnings)
        return self._changes.result() | {"backup": self._summary(backup), "warnings": warnings}

    def upload(self) -> dict[str, Any]:
        """Copy the newest set to the bucket, and remove old ones there. Raises GroundupError."""
        if not self._plan.backups.s3:
            return {"changed": False}
        backup, place = self._shelf.find("newest")
        self._shelf.refuse_other(backup, site=self._plan.site, place=place)
        self._shelf.check(backup, place)
        bucket, (keep, days) = self._bucket(self._plan.backups.s3), self._keep
        if bucket.upload(place, backup):
            self._changes.add(f"copy the set {backup.name} to {bucket.where}")
        write_uploaded(place, bucket.where)
        warnings = list[str]()
        self._remove(lambda: (f"remove {name} in {bucket.where}" for name in bucket.prune(keep, days=days)), warnings)
        return self._changes.result() | {"backup": self._summary(backup), "warnings": warnings}

    def test(self, *, say: Callable[[str], object]) -> dict[str, Any]:
        """Test that a set restores, and keep the result beside it. Raises GroundupError when a part is damaged."""
        backup, place = self._named()
        store = open_store(self._plan.site, write=False)
        result = ReadTest(
            self._plan, self._shelf, backup, place, store=store, container=self._scratch, home=scratch.HOME
        ).run()
        write_tested(place, result.plain())
        for name, part in result.parts.items():
            say(f"restore test of {backup.name}: {name}: {part.state}: {part.what}")
        if damaged := [f"{name}: {part.what}" for name, part in result.parts.items() if part.state == "damaged"]:
            raise self._shelf.damaged(str(place), f"the restore test failed: {'; '.join(damaged)}")
        missing = [f"{name}: {part.what}" for name, part in result.parts.items() if part.state == "not run"]
        warnings = [f"the restore test did not run: {'; '.join(missing)}"] if missing else []
        return {"changed": False, "backup": self._summary(backup), "tested": result.plain(), "warnings": warnings}

    def verify(self) -> dict[str, Any]:
        """Return the newest set. Raises GroundupError when it is damaged, too old, or failed its test."""
        target.refuse_away(self._plan.site, self._shelf.home)
        backup, place = self._shelf.find("newest")
        self._shelf.refuse_other(backup, site=self._plan.site, place=place)
        self._shelf.check(backup, place)
        if lacking := [part for part in parts(self._plan) if part not in backup.parts]:
            raise self._shelf.damaged(str(place), f"it has no part {', '.join(lacking)}")
        self._refuse_old(backup)
        if self._plan.backups.s3:
            bucket = self._bucket(self._plan.backups.s3)
            if faults := bucket.faults(backup):
                raise bucket.lacks(backup, faults)
        result, warnings = tested(place), exposed(self._plan, self._shelf)
        if result is None:
            warnings.append(f"nobody tested that the set {backup.name} restores: run {self._shelf.playbook}, tag test")
        elif result["state"] == "damaged":
            said = [f"{name}: {one['what']}" for name, one in result["parts"].items() if one["state"] == "damaged"]
            raise self._shelf.damaged(str(place), f"it failed its restore test: {'; '.join(said)}")
        elif result["state"] != "ok":
            said = [f"{name}: {one['what']}" for name, one in result["parts"].items() if one["state"] != "ok"]
            warnings.append(f"the set {backup.name} was not tested whole: {'; '.join(said)}")
        found = {"tested": result} if result else {}
        warnings += self._logs(backup)
        return {"changed": False, "backup": self._summary(backup), "warnings": warnings, **found}

    def ship(self, *, say: Callable[[str], object]) -> dict[str, Any]:
        """Copy the binary logs of MariaDB beside the sets, for ``seconds`` or until the run is ended."""
        target.refuse_away(self._plan.site, self._shelf.home)
        if self._changes.add(f"copy the binary logs of MariaDB into {self._shelf.home}"):
            target.remember(self._plan.site, self._shelf.home)
            logs_job.ship(self._plan, self._shelf.home, seconds=self._given["seconds"], say=say)
        return self._changes.result()

    def _logs(self, backup: SetBackup) -> list[str]:
        """Return what the binary logs lack. Raises GroundupError when they are damaged, or their copy is late."""
        if not self._plan.backups.logs_every or MARIADB not in backup.parts:
            return []
        wrong, age = logs_job.late(self._plan, self._shelf.home)
        if wrong and age is not None:
            raise GroundupError(
                f"{wrong} (logs-too-old): all to {age:.0f} s ago is there", where=str(self._shelf.home),
                why="what is committed meanwhile is lost with the databases",
                remedy=f"systemctl status groundup-logs-{self._plan.site}; or run the playbook {logs_job.PLAYBOOK}",
            )  # fmt: skip
        store = open_store(self._plan.site, write=False)
        lacks = f"{wrong} (logs-too-old)" if wrong else logs_job.lacking(self._shelf.home, backup, store=store)
        if lacks and not logs_job.begins(self._shelf.home):
            raise GroundupError(
                lacks, where=str(self._shelf.home), why=f"a restore of MariaDB ends at the set {backup.name}",
                remedy=f"run the playbook {self._shelf.playbook}: logs follow the new set; where none are copied, see "
                f"systemctl status groundup-logs-{self._plan.site}",
            )  # fmt: skip
        return [f"a restore of MariaDB ends at the set {backup.name}: {lacks}"] if lacks else []

    def open(self) -> dict[str, Any]:
        """Decrypt parts of a set into a new directory. Raises GroundupError; then the directory is removed."""
        with self._fetched() as (backup, place):
            return self._open(backup, place, Path(self._given["into"]))

    @contextmanager
    def _fetched(self) -> Iterator[tuple[SetBackup, Path]]:
        """Yield the set to open; one in the bucket is copied here for as long."""
        source = self._given["source"]
        if not source.startswith(SCHEME):
            yield self._named()
            return
        bucket = self._bucket(target_of(self._plan, source))
        beside = Path(self._given["into"]).absolute().parent
        with TemporaryDirectory(prefix=".groundup-set-", dir=beside) as copied:
            name, wanted = source.removeprefix(SCHEME), self._given["parts"]
            yield self._named(str(bucket.fetch(name, Path(copied), parts=wanted)))

    def _open(self, backup: SetBackup, place: Path, into: Path) -> dict[str, Any]:
        wanted = self._given["parts"] or list(backup.parts)
        store = open_lost(self._plan.site)
        if into.exists():
            raise GroundupError(
                f"{into} is there already", where="the variable backup_into",
                why="what is decrypted would lie among other files, or take their place", remedy="name a new directory",
            )  # fmt: skip
        files = {part: into / FILES.get(part, part) for part in wanted}
        if not self._changes.add(f"decrypt {', '.join(wanted)} of {backup.name} into {into}"):
            return self._changes.result() | {"backup": self._summary(backup)}
        into.mkdir(mode=0o700)
        try:
            for part, file in files.items():
                handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                with os.fdopen(handle, "wb") as stream:
                    for piece in self._shelf.content(backup, place, part, store=store):
                        stream.write(piece)
        except BaseException:
            shutil.rmtree(into)
            raise
        return self._changes.result() | {
            "backup": self._summary(backup),
            "opened": [str(one) for one in files.values()],
        }

    def _remove(self, old: Callable[[], Iterable[str]], warnings: list[str]) -> None:
        """Remove what is ``old``, but nothing while a restore is under way: it may be what is restored."""
        with ExitStack() as held:
            try:
                held.enter_context(undisturbed(self._plan.site))
            except GroundupError as error:
                warnings.append(f"nothing old is removed: {error.what}")
            else:
                self._changes.done += old()

    @property
    def _keep(self) -> tuple[int, int]:
        """How many sets stay, and for how many days."""
        given = self._given["keep"]
        return self._plan.backups.keep if given is None else given, self._plan.backups.keep_days

    def _bucket(self, target: S3Plan) -> BucketSets:
        return BucketSets(target, open_store(self._plan.site, write=False))

    def _named(self, source: str = "") -> tuple[SetBackup, Path]:
        backup, place = self._shelf.find(source or self._given["source"])
        self._shelf.refuse_other(backup, site=self._plan.site, place=place)
        return backup, place

    def _refuse_old(self, backup: SetBackup) -> None:
        """Name the parts that are too old."""
        now = datetime.now(UTC)
        days = self._given["days"]
        ages = {
            name: (now - datetime.fromisoformat(part["taken"])).total_seconds() for name, part in backup.parts.items()
        }
        if old := {name: age for name, age in ages.items() if age > days * 86400}:
            told = ", ".join(f"{name} {age / 86400:.1f} days" for name, age in old.items())
            raise GroundupError(
                f"the newest backup set is too old (backup-too-old): {told}", where=str(self._shelf.home),
                why=f"{self._shelf.unsaved}; it may be {days:g} days old",
                remedy=f"run the playbook {self._shelf.playbook}, each night by cron",
            )  # fmt: skip

    def _scratch(self) -> AbstractContextManager[Container]:
        api, namespace = Api(kubeconfig_path(self._plan.site)), self._plan.openstack.namespace
        return scratch.pod(api, namespace, like=mariadb.any_pod(api, namespace))

    def _summary(self, backup: SetBackup) -> dict[str, Any]:
        hidden = ("key", "fingerprints", "parts")
        told = {
            name: {field: part[field] for field in ("size", "stored", "sha256", "taken", "source")}
            for name, part in backup.parts.items()
        }
        said = {field: value for field, value in asdict(backup).items() if field not in hidden}
        return {
            **said, "path": str(self._shelf.home / backup.name), "parts": told, "without": lacking(self._plan),
        }  # fmt: skip


@contextmanager
def _spared(warnings: list[str]) -> Iterator[None]:
    """Make a warning of binary logs that cannot be read: a set does not need them."""
    try:
        yield
    except (GroundupError, OSError) as error:
        told = f"{error.what}: see {error.where}" if isinstance(error, GroundupError) else str(error)
        if told not in warnings:
            warnings.append(told)
