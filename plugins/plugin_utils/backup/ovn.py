"""Backups of OVN's northbound database in the site's state directory: `ovsdb-client backup`'s output, compressed."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils._ovn import snapshot
from ...module_utils._ovn.databases import NB
from ...module_utils._ovn.snapshot import DatabaseSnapshot
from ..ovn import record
from ..paths import state_dir
from ..services.neutron import sync_command
from .part import BackupPart
from .shelf import Backup, Shelf

OVERWRITE, NEW_CLUSTER = "overwrite", "new-cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class OvnBackup(Backup):
    """Metadata of one backup; its counts are by table."""

    database: str
    cluster: str  # id of the cluster it was taken from
    schema: str  # version


class OvnPart(BackupPart[OvnBackup, DatabaseSnapshot]):
    """The northbound database. Every control host is asked; the leading member does the work."""

    name, codes = "ovn", (OVERWRITE, NEW_CLUSTER)

    def shelf(self, *, replaced: bool = False) -> Shelf[OvnBackup]:
        """Return the site's backups; ``replaced``: what restores replaced, of which none is "the newest"."""
        home = state_dir(self.plan.site) / "backups" / f"ovn-{NB.short}"
        return Shelf(
            kind=OvnBackup,
            home=home / "replaced" if replaced else home,
            suffix=".db.gz",
            subject=NB.name,
            playbook="groundup.cloud.network_backup",
            unsaved="networks made since are in none",
            partial="a part of the tenants' networks would be missing",
            place=NB.name,
            replaces="the database has",
            consent="network_restore_force",
        )

    def replaced(self, found: Mapping[str, Any]) -> Shelf[OvnBackup]:
        """Return where what is there is saved, apart from backups."""
        del found
        return self.shelf(replaced=True)

    def options(self) -> dict[str, Any]:
        """Return the ids of the site's clusters: a member of another one is refused."""
        return {"clusters": record.known(self.plan.site)}

    def parse(self, data: bytes, *, where: str) -> DatabaseSnapshot:
        """Return the snapshot. Raises GroundupError for a damaged one."""
        return snapshot.parse(gzip.decompress(data), where=where)

    def about(self, content: DatabaseSnapshot, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return database, schema and cluster."""
        return {
            "database": content.database, "schema": content.version, "counts": content.counts,
            "cluster": found["cluster"],
        }  # fmt: skip

    def reasons(
        self, backup: OvnBackup, content: DatabaseSnapshot, found: Mapping[str, Any]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return what speaks against a restore: another database or cluster, a newer schema, what was made since."""
        del content
        wrong, against = dict[str, str](), dict[str, str]()
        if backup.database != NB.name:
            wrong[f"it is of {backup.database}"] = f"name a backup of {NB.name}"
        if snapshot.newer(backup.schema, found["schema"]):
            newer = f"its schema {backup.schema} is newer than {found['schema']}"
            wrong[newer] = "upgrade OVN on the control hosts first"
        if backup.cluster != found["cluster"]:
            against[NEW_CLUSTER] = (
                f"it was taken from the cluster {backup.cluster}, the site's is {found['cluster']} ({NEW_CLUSTER}: the "
                "former one is lost, and this one was made in its place)"
            )
        if any(found["counts"].values()):
            there = ", ".join(f"{number} {table}" for table, number in found["counts"].items())
            against[OVERWRITE] = f"{NB.name} has {there}; what was made since is taken away ({OVERWRITE})"
        return wrong, against

    def advice(self, backup: OvnBackup, content: DatabaseSnapshot) -> dict[str, Any]:
        """Return the commands that compare OVN with Neutron's own database, and correct it."""
        del backup, content
        return {"sync": [sync_command(self.plan.openstack.namespace, mode) for mode in ("log", "repair")]}


PART = OvnPart
