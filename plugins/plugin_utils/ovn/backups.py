"""Backups of OVN's northbound database in the site's state directory: whole or not there, known by digest and cluster.

Each is two files of one name: the database as `ovsdb-client backup` prints it, compressed, and what is known of it.
The second is written last and removed first: a backup is there when it has both.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ...module_utils._base.files import write_file
from ...module_utils._ovn import snapshot
from ...module_utils._ovn.databases import NB
from ..errors import GroundupError
from ..paths import state_dir

ABOUT, DATA = ".json", ".db.gz"
OVERWRITE, NEW_CLUSTER = "overwrite", "new-cluster"
CODES = (OVERWRITE, NEW_CLUSTER)  # what an operator may accept
_STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """What is known of one backup."""

    name: str  # time it was taken
    site: str
    database: str
    cluster: str  # id of the cluster it was taken from
    schema: str  # version
    sha256: str  # of the compressed file
    size: int  # bytes of it
    counts: dict[str, int]  # by table

    @property
    def taken(self) -> datetime:
        """When it was taken."""
        return datetime.strptime(self.name, _STAMP).replace(tzinfo=UTC)

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(f'{number} {table}' for table, number in self.counts.items())})"


def directory(site: str) -> Path:
    """Return where the backups of ``site`` are."""
    return state_dir(site) / "backups" / f"ovn-{NB.short}"


def save(site: str, data: bytes, *, cluster: str, now: datetime | None = None) -> Backup:
    """Keep a compressed snapshot; return what is known of it. Raises GroundupError for a damaged one, OSError."""
    name = (now or datetime.now(UTC)).strftime(_STAMP)
    home = directory(site)
    found = snapshot.parse(gzip.decompress(data), where=f"what the leading member of {NB.name} sent")
    backup = Backup(
        name=name,
        site=site,
        database=found.database,
        cluster=cluster,
        schema=found.version,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        counts=found.counts,
    )
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(home / f"{name}{DATA}", data, mode=0o600)
    about = json.dumps(asdict(backup), sort_keys=True, indent=1) + "\n"
    write_file(home / f"{name}{ABOUT}", about.encode(), mode=0o600)
    return backup


def prune(site: str, keep: int) -> list[str]:
    """Remove all but the newest ``keep`` backups (0: none), and halves of killed runs; return the names that went."""
    home = directory(site)
    gone = names(site)[keep:] if keep > 0 else []
    for name in gone:
        (home / f"{name}{ABOUT}").unlink()
    whole = set(names(site))
    for path in home.glob(f"*{DATA}"):
        if path.name.removesuffix(DATA) not in whole:
            path.unlink()
    return gone


def names(site: str) -> list[str]:
    """Return the names of all backups, the newest first."""
    return sorted((path.name.removesuffix(ABOUT) for path in directory(site).glob(f"*{ABOUT}")), reverse=True)


def load(site: str, name: str) -> tuple[Backup, bytes]:
    """Return a backup and its compressed data, both whole. Raises GroundupError.

    Args:
        site: name of the site.
        name: of a backup, ``newest``, or the path of a backup's `ABOUT` file elsewhere.
    """
    known = names(site)
    about = (
        Path(name) if "/" in name else directory(site) / f"{known[0] if name == 'newest' and known else name}{ABOUT}"
    )
    if not about.is_file():
        raise GroundupError(
            f"there is no backup {name}",
            where=str(about),
            why="nothing can be restored, nor verified",
            remedy=f"name one of {', '.join(known)}" if known else "run the playbook groundup.cloud.network_backup",
        )
    try:
        backup = Backup(**json.loads(about.read_text(encoding="utf-8")))
        data = about.with_name(about.name.removesuffix(ABOUT) + DATA).read_bytes()
        backup.taken  # noqa: B018 - raises ValueError for a name that is no time
    except (ValueError, TypeError, FileNotFoundError) as error:
        raise _damaged(about, str(error)) from error
    if hashlib.sha256(data).hexdigest() != backup.sha256:
        raise _damaged(about, "its SHA-256 is another")
    snapshot.parse(gzip.decompress(data), where=str(about))
    return backup, data


def verify(site: str, *, days: float, now: datetime | None = None) -> Backup:
    """Return the newest backup. Raises GroundupError when it is damaged, or older than ``days``."""
    backup, _ = load(site, "newest")
    age = (now or datetime.now(UTC)) - backup.taken
    if age > timedelta(days=days):
        raise GroundupError(
            f"the newest backup of {NB.name} is {age.days} days old",
            where=str(directory(site)),
            why=f"networks made since are in none; it may be {days:g} days old",
            remedy="run the playbook groundup.cloud.network_backup, each night by cron",
        )
    return backup


def refuse(
    backup: Backup, *, site: str, cluster: str, schema: str, counts: Mapping[str, int], force: Collection[str]
) -> None:
    """Raise GroundupError for a backup that is not this site's, or that ``force`` does not accept.

    Args:
        backup: what is to be restored.
        site: name of the site.
        cluster: id of the site's cluster.
        schema: version of the schema that the database has now.
        counts: how many rows the database has now, by table.
        force: codes that are accepted.
    """
    for wrong, remedy in (
        (f"it is of the site {backup.site}" if backup.site != site else "", "name a backup of this site"),
        (f"it is of {backup.database}" if backup.database != NB.name else "", f"name a backup of {NB.name}"),
        (
            f"its schema {backup.schema} is newer than {schema}" if snapshot.newer(backup.schema, schema) else "",
            "upgrade OVN on the control hosts first",
        ),
    ):
        if wrong:
            raise _refused(backup, [wrong], remedy=remedy)
    against: dict[str, str] = {}
    if backup.cluster != cluster:
        against[NEW_CLUSTER] = (
            f"it was taken from the cluster {backup.cluster}, the site's is {cluster} ({NEW_CLUSTER}: the former "
            "one is lost, and this one was made in its place)"
        )
    if any(counts.values()):
        there = ", ".join(f"{number} {table}" for table, number in counts.items())
        against[OVERWRITE] = f"{NB.name} has {there}; what was made since is taken away ({OVERWRITE})"
    if missing := [code for code in against if code not in force]:
        accepting = json.dumps({"network_restore_force": list(against)})
        raise _refused(backup, [against[code] for code in missing], remedy=f"accept it with -e '{accepting}'")


def summary(backup: Backup) -> dict[str, Any]:
    """Return what a result has of it."""
    return asdict(backup) | {"file": str(directory(backup.site) / f"{backup.name}{DATA}")}


def _refused(backup: Backup, reasons: list[str], *, remedy: str) -> GroundupError:
    return GroundupError(
        f"the backup {backup.name} is not restored: {'; '.join(reasons)}",
        where=f"{NB.name}; the backup is {backup}",
        why="what is restored takes the place of everything that the database has; nothing was changed",
        remedy=remedy,
    )


def _damaged(path: Path, what: str) -> GroundupError:
    return GroundupError(
        f"the backup is damaged: {what}",
        where=str(path),
        why="a part of the tenants' networks would be missing",
        remedy="name another one",
    )
