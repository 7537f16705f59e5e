"""Snapshots of the repositories of OS packages: the one that a site runs, and the former one.

A build on another day has other packages. It gets a directory of its own on the seed, named by day and content, so that
no host's source changes under it. The path of the plan (``packages-13/13``) leads to the snapshot in use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from ....module_utils._base.files import write_file
from ...paths import state_dir
from ...record import read_record
from ...run_mode import dry_run
from ..cache.artifact import Artifact

FILE = "packages.json"
KEPT = 2  # the one in use and the former one
_NAME = re.compile(r"\d{4}-\d\d-\d\d-[0-9a-f]{1,8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A repository as one build made it."""

    name: str  # its directory: "2026-11-28-3f9a0c1b"
    sha256: str  # of the artifact

    def __post_init__(self) -> None:
        """Refuse a name that is no directory of ours: the seed makes and removes it. Raises ValueError."""
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name of a snapshot")


Record = Mapping[str, Sequence[Snapshot]]  # by the plan's path; the one in use first


def snapshot_of(artifact: Artifact, known: Sequence[Snapshot] = ()) -> Snapshot:
    """Return the snapshot that ``artifact`` is: one of ``known`` with the same content, or named by its day."""
    built = datetime.fromtimestamp(artifact.path.stat().st_mtime, UTC)
    new = Snapshot(name=f"{built:%Y-%m-%d}-{artifact.sha256[:8]}", sha256=artifact.sha256)
    return next((one for one in known if one.sha256 == artifact.sha256), new)


def using(known: Sequence[Snapshot], snapshot: Snapshot) -> list[Snapshot]:
    """Return the snapshots to keep when ``snapshot`` is in use."""
    return [snapshot, *(one for one in known if one != snapshot)][:KEPT]


def place(path: str, snapshot: Snapshot) -> str:
    """Return the directory of ``snapshot``, below the file tree, of the repository at the plan's ``path``."""
    return f"{path.partition('/')[0]}/{snapshot.name}"


def places(record: Record, planned: Mapping[Any, str]) -> dict[Any, str]:
    """Return ``planned`` (path by release) with the snapshot in use; the plan's path where none is recorded."""
    return {release: place(path, record[path][0]) if record.get(path) else path for release, path in planned.items()}


def in_use(record: Record, planned: Mapping[Any, str]) -> list[str]:
    """Return the names of the snapshots in use of ``planned``; a record keeps those of releases that a site left."""
    return [record[path][0].name for path in planned.values() if record.get(path)]


def told(record: Record) -> str:
    """Return which snapshot of each repository is in use, and the former one, in words."""
    return "; ".join(
        ", before ".join(f"{path.partition('/')[0]} {one.name}" if one is known[0] else one.name for one in known)
        for path, known in sorted(record.items())
    )


def plain(record: Record) -> dict[str, Any]:
    return {path: [asdict(one) for one in known] for path, known in record.items()}


def from_plain(data: Any) -> dict[str, list[Snapshot]]:
    """Return the record in ``data``. Raises TypeError, AttributeError or ValueError for anything else."""
    return {path: [Snapshot(**one) for one in known] for path, known in data.items()}


def load(site: str) -> dict[str, list[Snapshot]]:
    """Return the record of ``site``; empty before its seed has snapshots."""
    found = read_record(
        state_dir(site) / FILE, from_plain, what="the record of the snapshots of packages",
        why="hosts install from the snapshot that it names",
        remedy="remove it and run the playbook groundup.cloud.seed, which writes it",
    )  # fmt: skip
    return found or {}


def save(site: str, record: Record) -> None:
    write_file(state_dir(site) / FILE, json.dumps(plain(record), indent=1, sort_keys=True).encode() + b"\n", mode=0o644)


def of_dry_run(variables: Mapping[str, Any], *, seed: str | None) -> dict[str, list[Snapshot]] | None:
    """Return the record that the seed layer predicted earlier in this dry run; None if there is none."""
    if not seed or not dry_run(variables) or seed not in variables.get("hostvars", {}):
        return None
    earlier = variables["hostvars"][seed].get("seed_converged") or {}
    return from_plain(earlier["snapshots"]) if "snapshots" in earlier else None
