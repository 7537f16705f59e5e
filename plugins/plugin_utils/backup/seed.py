"""Seed backups (Ironic's database, calls home, DHCP leases) in the site's state directory.

They are encrypted like the secrets store. They do not contain the machines' journals: these are on the controller,
beside the backups, and tell what happened after a backup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ...module_utils._base.text import few
from ...module_utils._ironic import snapshot
from ...module_utils._ironic.snapshot import IronicNode, IronicSnapshot
from ..errors import GroundupError
from ..metal.journal import Journal, file_of, home_of
from ..paths import state_dir
from ..plan.types import Plan
from ..supply.publish import digests
from ..vault import open_store
from . import shelf as backups

OVERWRITE, OUTDATED = "overwrite", "outdated"
CODES = (OVERWRITE, OUTDATED)  # of consents


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedBackup(backups.Backup):
    """The metadata of one backup."""

    store: str  # identity of the secrets store whose password decrypts it
    release: str  # of Ironic
    schema: str  # schema revision of Ironic's database
    published: dict[str, str]  # digests of the files that machines were installed from


def shelf(site: str, *, replaced: bool = False) -> backups.Shelf[SeedBackup]:
    """Return the directory of ``site``'s backups; ``replaced``: of the states that restores replaced."""
    home = state_dir(site) / "backups" / "seed"
    return backups.Shelf(
        kind=SeedBackup,
        home=home / "replaced" if replaced else home,
        suffix=".tar.gz.vault",
        subject="the seed",
        playbook="groundup.cloud.seed_backup",
        unsaved="machines installed since are in none",
        partial="machines that it lacks would be installed anew",
        place="Ironic on the seed",
        replaces="the seed knows of machines",
        consent="seed_restore_force",
    )


def save(plan: Plan, data: bytes, *, now: datetime, replaced: bool = False) -> SeedBackup:
    """Encrypt and store a backup; return its metadata. Raises GroundupError when ``data`` is damaged, OSError."""
    found = snapshot.parse(data, where="what the seed sent")
    store = open_store(plan.site, write=False)
    return shelf(plan.site, replaced=replaced).keep(
        store.seal(data),
        now=now,
        site=plan.site,
        store=store.identity,
        release=_release(plan),
        schema=found.schema,
        counts=found.counts,
        published=_published(plan),
    )


def load(site: str, name: str) -> tuple[SeedBackup, IronicSnapshot, bytes]:
    """Return a backup's metadata, its content, and its archive. Raises GroundupError.

    ``name`` is what `backups.Shelf.load` takes.
    """
    backup, sealed = shelf(site).load(name)
    store = open_store(site, write=False)
    where = f"the backup {backup.name}"
    if backup.store != store.identity:
        what = f"it is of the site {backup.site} with another secrets store"
        raise shelf(site).refused(backup, what, remedy="name one of this site")
    data = store.unseal(sealed, where=where)
    return backup, snapshot.parse(data, where=where), data


def verify(site: str, *, days: float, now: datetime | None = None) -> SeedBackup:
    """Return the newest backup. Raises GroundupError when it is damaged, cannot be decrypted, or exceeds ``days``."""
    backup, _, _ = load(site, "newest")
    shelf(site).refuse_old(backup, days=days, now=now)
    return backup


def refuse_lost(plan: Plan, nodes: Mapping[str, IronicNode]) -> None:
    """Raise GroundupError when Ironic lacks installed machines: such a state must not become a backup."""
    if lost := sorted(_installed(plan) - {node.name for node in nodes.values()}):
        raise GroundupError(
            f"the seed does not know {few(lost)}, installed by their journals",
            where="Ironic on the seed",
            why="it was lost or made anew; such a backup would take the place of good ones",
            remedy="run the playbook groundup.cloud.seed_restore; or move the journals away, below `metal` of the "
            "site's state directory",
        )


def refuse(
    backup: SeedBackup,
    found: IronicSnapshot,
    plan: Plan,
    *,
    schema: str,
    there: Mapping[str, IronicNode],
    force: Collection[str],
) -> None:
    """Raise GroundupError when a backup is another site's, or has a reason against it that ``force`` does not accept.

    Args:
        backup: the backup to restore.
        found: its content.
        plan: the site's plan.
        schema: schema of the seed's present database, "" when it has none yet.
        there: the seed's present nodes, by id.
        force: which of `CODES` the operator accepts.
    """
    release = _release(plan)
    wrong, against = dict[str, str](), dict[str, str]()
    version = "use the version of this collection that {}; upgrade afterwards"
    if backup.release != release:
        what = f"it is of Ironic {backup.release}, the site's is {release}"
        wrong[what] = version.format(f"has Ironic {backup.release}")
    if schema not in ("", backup.schema):
        what = f"its database has the schema {backup.schema}, the seed's {schema}"
        wrong[what] = version.format(f"made {backup.name}")
    kept = {identity for identity, node in found.nodes.items() if node.became(there.get(identity))}
    if lost := sorted(str(node) for identity, node in there.items() if identity not in kept):
        against[OVERWRITE] = f"the seed would forget, or set back, {few(lost)} ({OVERWRITE})"
    if gone := _since(backup, found, plan, ("retiring", "retired")):
        against[OUTDATED] = f"{few(gone)} left since, and would count as installed ({OUTDATED}: erase them again)"
    shelf(plan.site).refuse(backup, site=plan.site, wrong=wrong, against=against, force=force)


def warnings(backup: SeedBackup, found: IronicSnapshot, plan: Plan) -> list[str]:
    """Return warnings for the operator after a restore of this backup."""
    active = {node.name for node in found.nodes.values() if node.state == "active"}
    lines = []
    if newer := sorted(_installed(plan) - active):
        lines.append(
            f"{few(newer)}: installed after the backup {backup.name}. They run on; Ironic does not know that they "
            "are installed, and the playbook groundup.cloud.ironic leaves them alone, with a card"
        )
    now = _published(plan)
    if others := sorted(name for name, digest in backup.published.items() if now.get(name) != digest):
        lines.append(f"the seed serves other content than when the backup was taken: {', '.join(others)}")
    return lines


def _release(plan: Plan) -> str:
    return plan.metal.release if plan.metal else ""


def _published(plan: Plan) -> dict[str, str]:
    record = digests.load(plan.site)
    if not plan.metal or not record:
        return {}
    ours = (plan.metal.environment, plan.metal.image, f"{plan.metal.ramdisk}/")
    return {name: digest for name, digest in record.files.items() if name.startswith(ours)}


def _journals(plan: Plan) -> Iterable[tuple[str, Journal]]:
    home = home_of(plan.site)
    for path in sorted(home.glob("*.jsonl")):
        yield path.stem, Journal(file_of(home, path.stem))


def _installed(plan: Plan) -> set[str]:
    return {name for name, journal in _journals(plan) if journal.installed and not journal.leaving}


def _since(backup: SeedBackup, found: IronicSnapshot, plan: Plan, states: Collection[str]) -> list[str]:
    """Return the backup's machines that reached one of ``states`` after it, by their journals."""
    names, taken = {node.name for node in found.nodes.values()}, backup.taken.timestamp()
    return [
        name
        for name, journal in _journals(plan)
        if name in names and any(line.get("state") in states and line["time"] >= taken for line in journal.lines())
    ]


__all__ = ["CODES", "IronicNode", "SeedBackup", "load", "refuse", "refuse_lost", "save", "shelf", "verify", "warnings"]
