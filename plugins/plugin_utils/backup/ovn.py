"""Backups of OVN's northbound database in the site's state directory: `ovsdb-client backup`'s output, compressed."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from ...module_utils._ovn import snapshot
from ...module_utils._ovn.databases import NB
from ..paths import state_dir
from . import shelf as backups

OVERWRITE, NEW_CLUSTER = "overwrite", "new-cluster"
CODES = (OVERWRITE, NEW_CLUSTER)  # reasons that an operator may accept


@dataclass(frozen=True, slots=True, kw_only=True)
class OvnBackup(backups.Backup):
    """Metadata of one backup; its counts are by table."""

    database: str
    cluster: str  # id of the cluster it was taken from
    schema: str  # version


def shelf(site: str) -> backups.Shelf[OvnBackup]:
    """Return the shelf with the backups of ``site``."""
    return backups.Shelf(
        kind=OvnBackup,
        home=state_dir(site) / "backups" / f"ovn-{NB.short}",
        suffix=".db.gz",
        subject=NB.name,
        playbook="groundup.cloud.network_backup",
        unsaved="networks made since are in none",
        partial="a part of the tenants' networks would be missing",
        place=NB.name,
        replaces="the database has",
        consent="network_restore_force",
    )


def save(site: str, data: bytes, *, cluster: str, now: datetime | None = None) -> OvnBackup:
    """Store a compressed snapshot; return its metadata. Raises GroundupError for a damaged one, OSError."""
    found = snapshot.parse(gzip.decompress(data), where=f"what the leading member of {NB.name} sent")
    about = {"database": found.database, "schema": found.version, "counts": found.counts}
    return shelf(site).keep(data, now=now, site=site, cluster=cluster, **about)


def load(site: str, name: str) -> tuple[OvnBackup, bytes]:
    """Return a backup and its compressed data; ``name``: as in `backups.Shelf.load`. Raises GroundupError."""
    backup, data = shelf(site).load(name)
    snapshot.parse(gzip.decompress(data), where=f"the backup {backup.name}")
    return backup, data


def verify(site: str, *, days: float, now: datetime | None = None) -> OvnBackup:
    """Return the newest backup. Raises GroundupError when it is damaged, or older than ``days``."""
    backup, _ = load(site, "newest")
    shelf(site).refuse_old(backup, days=days, now=now)
    return backup


def refuse(
    backup: OvnBackup, *, site: str, cluster: str, schema: str, counts: Mapping[str, int], force: Collection[str]
) -> None:
    """Raise GroundupError unless the backup fits this site and ``force`` accepts every reason against it.

    Args:
        backup: the backup to restore.
        site: name of the site.
        cluster: id of the site's cluster.
        schema: version of the schema that the database has now.
        counts: rows that the database has now, by table.
        force: accepted codes.
    """
    wrong, against = dict[str, str](), dict[str, str]()
    if backup.database != NB.name:
        wrong[f"it is of {backup.database}"] = f"name a backup of {NB.name}"
    if snapshot.newer(backup.schema, schema):
        wrong[f"its schema {backup.schema} is newer than {schema}"] = "upgrade OVN on the control hosts first"
    if backup.cluster != cluster:
        against[NEW_CLUSTER] = (
            f"it was taken from the cluster {backup.cluster}, the site's is {cluster} ({NEW_CLUSTER}: the former "
            "one is lost, and this one was made in its place)"
        )
    if any(counts.values()):
        there = ", ".join(f"{number} {table}" for table, number in counts.items())
        against[OVERWRITE] = f"{NB.name} has {there}; what was made since is taken away ({OVERWRITE})"
    shelf(site).refuse(backup, site=site, wrong=wrong, against=against, force=force)
