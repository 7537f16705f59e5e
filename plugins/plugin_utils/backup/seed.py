"""Seed backups (Ironic's database, calls home, DHCP leases) in the site's state directory.

They are encrypted like the secrets store. They do not contain the machines' journals: these are on the controller,
beside the backups, and tell what happened after a backup.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils._base.text import few
from ...module_utils._ironic import snapshot
from ...module_utils._ironic.snapshot import IronicNode, IronicSnapshot
from ..errors import GroundupError
from ..metal.journal import Journal, file_of, home_of
from ..paths import state_dir
from ..plan.types import Plan
from ..supply.publish import digests
from .part import SealedBackup, SealedPart
from .shelf import Shelf

OVERWRITE, OUTDATED = "overwrite", "outdated"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedBackup(SealedBackup):
    """The metadata of one backup."""

    release: str  # of Ironic
    schema: str  # schema revision of Ironic's database
    published: dict[str, str]  # digests of the files that machines were installed from


class SeedPart(SealedPart[SeedBackup, IronicSnapshot]):
    """What the seed knows of machines."""

    name, codes = "seed", (OVERWRITE, OUTDATED)

    def shelf(self, *, replaced: bool = False) -> Shelf[SeedBackup]:
        """Return the site's backups; ``replaced``: the states that restores replaced, of which none is "the newest"."""
        home = state_dir(self.plan.site) / "backups" / "seed"
        return Shelf(
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

    def options(self) -> dict[str, Any]:
        """Return the port of Ironic on the loopback."""
        return {"port": self.plan.metal.api_inside if self.plan.metal else 0}

    def parse(self, data: bytes, *, where: str) -> IronicSnapshot:
        """Return the archive's content. Raises GroundupError for a damaged one."""
        return snapshot.parse(data, where=where)

    def about(self, content: IronicSnapshot, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return Ironic's release and schema, and the digests of what machines were installed from."""
        del found
        return {
            "release": _release(self.plan), "schema": content.schema, "counts": content.counts,
            "published": _published(self.plan),
        }  # fmt: skip

    def refuse_lost(self, found: Mapping[str, Any]) -> None:
        """Raise GroundupError when Ironic lacks installed machines: such a state must not become a backup."""
        if lost := sorted(_installed(self.plan) - {node.name for node in _nodes(found).values()}):
            raise GroundupError(
                f"the seed does not know {few(lost)}, installed by their journals",
                where="Ironic on the seed",
                why="it was lost or made anew; such a backup would take the place of good ones",
                remedy="run the playbook groundup.cloud.seed_restore; or move the journals away, below `metal` of the "
                "site's state directory",
            )

    def replaced(self, found: Mapping[str, Any]) -> Shelf[SeedBackup] | None:
        """Return where the present state is saved, apart from backups; None when it has no machine."""
        return self.shelf(replaced=True) if found["nodes"] else None

    def reasons(
        self, backup: SeedBackup, content: IronicSnapshot, found: Mapping[str, Any]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return what speaks against a restore: another release or schema, machines lost or revived."""
        release, schema, there = _release(self.plan), found["schema"], _nodes(found)
        wrong, against = dict[str, str](), dict[str, str]()
        version = "use the version of this collection that {}; upgrade afterwards"
        if backup.release != release:
            what = f"it is of Ironic {backup.release}, the site's is {release}"
            wrong[what] = version.format(f"has Ironic {backup.release}")
        if schema not in ("", backup.schema):
            what = f"its database has the schema {backup.schema}, the seed's {schema}"
            wrong[what] = version.format(f"made {backup.name}")
        kept = {identity for identity, node in content.nodes.items() if node.became(there.get(identity))}
        if lost := sorted(str(node) for identity, node in there.items() if identity not in kept):
            against[OVERWRITE] = f"the seed would forget, or set back, {few(lost)} ({OVERWRITE})"
        if gone := _since(backup, content, self.plan, ("retiring", "retired")):
            against[OUTDATED] = f"{few(gone)} left since, and would count as installed ({OUTDATED}: erase them again)"
        return wrong, against

    def advice(self, backup: SeedBackup, content: IronicSnapshot) -> dict[str, Any]:
        """Return warnings of machines installed after the backup, and of other content that the seed serves now."""
        active, lines = {node.name for node in content.nodes.values() if node.state == "active"}, list[str]()
        if newer := sorted(_installed(self.plan) - active):
            lines.append(
                f"{few(newer)}: installed after the backup {backup.name}. They run on; Ironic does not know that they "
                "are installed, and the playbook groundup.cloud.ironic leaves them alone, with a card"
            )
        now = _published(self.plan)
        if others := sorted(name for name, digest in backup.published.items() if now.get(name) != digest):
            lines.append(f"the seed serves other content than when the backup was taken: {', '.join(others)}")
        return {"warnings": lines}


def _nodes(found: Mapping[str, Any]) -> dict[str, IronicNode]:
    return {identity: IronicNode(**node) for identity, node in found["nodes"].items()}


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


PART = SeedPart
