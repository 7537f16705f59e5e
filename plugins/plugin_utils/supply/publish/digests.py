"""The record of digests: everything a site's seed serves.

The plan is pure: it knows only names and versions, and a rebuilt artifact has the same version but other content. So
published digests are recorded, and nodes use them. The record is part of the site's state, not of the cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ....module_utils._base.files import write_file
from ...errors import GroundupError
from ...paths import state_dir
from ...record import read_record
from ...run_mode import dry_run
from ..cache.artifact import Artifact

FILE = "published.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDigests:
    """The record of digests of everything a seed serves."""

    images: Mapping[str, str] = field(default_factory=dict)  # "groundup/mariadb:11.8" -> "sha256:..."
    files: Mapping[str, str] = field(default_factory=dict)  # "kubernetes/1.36.3/kubeadm" -> sha256 in hexadecimal

    @classmethod
    def of(cls, images: Iterable[Artifact], places: Iterable[Path], *, root: Path) -> PublishedDigests:
        """Return the record of image artifacts and of the directories ``places`` in the file tree ``root``."""
        from ..make.oci import manifest_digest  # imported late: it imports all build modules

        files = {}
        for place in places:
            for path in sorted(place.rglob("*.sha256")):
                name = path.with_suffix("").relative_to(root).as_posix()
                files[name] = path.read_text(encoding="utf-8").split()[0]
        return cls(images={str(image.image): manifest_digest(image.path) for image in images}, files=files)

    @classmethod
    def from_plain(cls, data: Any) -> PublishedDigests:
        """Return the record in ``data``. Raises TypeError, KeyError or ValueError for anything else."""
        return cls(
            images={str(name): str(digest) for name, digest in data["images"].items()},
            files={str(name): str(digest) for name, digest in data["files"].items()},
        )

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    def updated(self, newer: PublishedDigests) -> PublishedDigests:
        """Return this record updated by ``newer``; entries that are not published again stay."""
        return PublishedDigests(images={**self.images, **newer.images}, files={**self.files, **newer.files})

    def without(self, images: Iterable[str], files: Iterable[str]) -> PublishedDigests:
        """Return the record without these images (by the record's names) and the files below these directories."""
        without, places = set(images), tuple(f"{place}/" for place in files)
        return PublishedDigests(
            images={name: digest for name, digest in self.images.items() if name not in without},
            files={name: digest for name, digest in self.files.items() if not name.startswith(places)},
        )

    def pin(self, references: Mapping[str, str], *, registry: str) -> dict[str, str]:
        """Return ``references`` with a digest appended to each image of the record in ``registry``.

        References to other registries, and those with a digest, stay unchanged.
        """
        pinned = {}
        for name, reference in references.items():
            digest = self.images.get(reference.removeprefix(f"{registry}/")) if "@" not in reference else None
            pinned[name] = f"{reference}@{digest}" if digest else reference
        return pinned


def load(site: str) -> PublishedDigests | None:
    """Return the record of ``site``, None when this controller has published nothing for it."""
    return read_record(
        state_dir(site) / FILE, PublishedDigests.from_plain, what="the record of what is published",
        why="nodes run what it names, and nothing else",
        remedy="remove it and run the playbook groundup.cloud.seed, which writes it",
    )  # fmt: skip


def save(site: str, record: PublishedDigests) -> None:
    path = state_dir(site) / FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_file(path, json.dumps(record.plain(), indent=1, sort_keys=True).encode() + b"\n", mode=0o644)


def required(site: str, *, seed: str | None, dry_run: bool) -> PublishedDigests:
    """Return the record of ``site``; an empty one without a ``seed``, or in a dry run before the first publishing.

    Otherwise raises GroundupError when there is none.
    """
    record = load(site) if seed else PublishedDigests()
    if record is None and not dry_run:
        raise GroundupError(
            f"nothing is recorded of what {seed} serves",
            where=str(state_dir(site) / FILE),
            why="nodes run what was published, by its digest; a name alone could be other content on each of them",
            remedy="run the playbook groundup.cloud.seed, which publishes and writes it",
        )
    return record or PublishedDigests()


def of_dry_run(variables: Mapping[str, Any], *, seed: str | None) -> PublishedDigests | None:
    """Return the record that the seed layer predicted earlier in this dry run; None if there is none."""
    if not seed or not dry_run(variables) or seed not in variables.get("hostvars", {}):
        return None
    earlier = variables["hostvars"][seed].get("seed_published") or {}
    return PublishedDigests.from_plain(earlier["published"]) if "published" in earlier else None
