"""Backups of OVN's northbound database in the site's state directory: what `ovsdb-client backup` prints, compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ...module_utils._ovn import snapshot
from ...module_utils._ovn.databases import NB
from .. import backups
from ..errors import GroundupError
from ..paths import state_dir

OVERWRITE, NEW_CLUSTER = "overwrite", "new-cluster"
CODES = (OVERWRITE, NEW_CLUSTER)  # what an operator may accept


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup(backups.Backup):
    """What is known of one backup; its counts are by table."""

    database: str
    cluster: str  # id of the cluster it was taken from
    schema: str  # version


def directory(site: str) -> Path:
    """Return where the backups of ``site`` are."""
    return state_dir(site) / "backups" / f"ovn-{NB.short}"


def _shelf(site: str) -> backups.Shelf[Backup]:
    return backups.Shelf(
        kind=Backup,
        home=directory(site),
        suffix=".db.gz",
        subject=NB.name,
        playbook="groundup.cloud.network_backup",
        unsaved="networks made since are in none",
        partial="a part of the tenants' networks would be missing",
    )


def save(site: str, data: bytes, *, cluster: str, now: datetime | None = None) -> Backup:
    """Keep a compressed snapshot; return what is known of it. Raises GroundupError for a damaged one, OSError."""
    found = snapshot.parse(gzip.decompress(data), where=f"what the leading member of {NB.name} sent")
    about = {"database": found.database, "schema": found.version, "counts": found.counts}
    return _shelf(site).keep(data, now=now, site=site, cluster=cluster, **about)


def prune(site: str, keep: int) -> list[str]:
    """Remove all but the newest ``keep`` backups (0: none), and halves of killed runs; return the names that went."""
    return _shelf(site).prune(keep)


def names(site: str) -> list[str]:
    """Return the names of all backups, the newest first."""
    return _shelf(site).names()


def load(site: str, name: str) -> tuple[Backup, bytes]:
    """Return a backup, by what `backups.Shelf.load` takes, and its compressed data. Raises GroundupError."""
    backup, data = _shelf(site).load(name)
    snapshot.parse(gzip.decompress(data), where=f"the backup {backup.name}")
    return backup, data


def verify(site: str, *, days: float, now: datetime | None = None) -> Backup:
    """Return the newest backup. Raises GroundupError when it is damaged, or older than ``days``."""
    backup, _ = load(site, "newest")
    _shelf(site).refuse_old(backup, days=days, now=now)
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
    return _shelf(backup.site).summary(backup)


def _refused(backup: Backup, reasons: list[str], *, remedy: str) -> GroundupError:
    return GroundupError(
        f"the backup {backup.name} is not restored: {'; '.join(reasons)}",
        where=f"{NB.name}; the backup is {backup}",
        why="what is restored takes the place of everything that the database has; nothing was changed",
        remedy=remedy,
    )
