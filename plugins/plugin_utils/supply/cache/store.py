"""The cache of artifacts: ``<cache>/artifacts/<name>/<key>/`` holds the payload, ``manifest.json`` and ``sbom.json``.

An artifact appears whole, by a rename, or not at all. What a killed build leaves (``.building-*``) is removed by the
next one, which knows that it is dead because it holds the artifact's lock.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....module_utils._base.files import write_file
from ....module_utils._base.locks import locked
from ...errors import GroundupError
from ...paths import cache_dir
from ..lock.model import Entry
from .artifact import Artifact, digest, payload_name, size, stamp

MARK = "used"  # a file beside the payload whose time says when the artifact was last asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is known of a stored artifact; ``files`` are name, size and mtime of its files when it was stored."""

    name: str
    version: str
    key: str
    sha256: str
    size: int  # bytes
    cpu_seconds: float
    wall_seconds: float
    inputs: dict[str, Any]
    files: list[list[int | str]]


class Store:
    """The artifacts of one cache directory."""

    def __init__(self, root: Path | None = None) -> None:
        """Open (and make) the store below ``root``; default: the user's cache."""
        self.root = (root or cache_dir()) / "artifacts"
        self.root.mkdir(parents=True, exist_ok=True)

    def find(self, entry: Entry, key: str, *, thorough: bool = False) -> Artifact | None:
        """Return the artifact of ``entry`` with ``key``, None when it was never made.

        A file whose size or time changed since it was stored is read again; with ``thorough`` every file is.
        Raises GroundupError naming an artifact whose content is not what was stored.
        """
        place = self.root / entry.name / key
        manifest = self.manifest(entry.name, key)
        if manifest is None:
            return None
        path = place / payload_name(entry.kind)
        found = stamp(path) if path.exists() else []
        if (thorough or found != manifest.files) and (not path.exists() or digest(path) != manifest.sha256):
            raise GroundupError(
                f"artifact {entry.name} {entry.version} in the cache is damaged: "
                f"it is not what was stored ({manifest.sha256[:12]})",
                where=str(path),
                why="a changed artifact would reach every host of the site",
                remedy=f"ci/supply build --rebuild {entry.name}",
            )
        if entry.sha256 and entry.sha256 != manifest.sha256:
            raise wrong_digest(entry, manifest.sha256)
        (place / MARK).touch()
        return Artifact(
            name=entry.name,
            kind=entry.kind,
            version=entry.version,
            key=key,
            path=path,
            sha256=manifest.sha256,
            image=entry.image,
        )

    def manifest(self, name: str, key: str) -> Manifest | None:
        """Return the manifest of a stored artifact, None when there is none."""
        try:
            return Manifest(**json.loads((self.root / name / key / "manifest.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise GroundupError(
                f"the manifest of artifact {name} in the cache is damaged: {error}",
                where=str(self.root / name / key),
                why="nothing is known of what is stored there",
                remedy=f"ci/supply build --rebuild {name}",
            ) from error

    def last_cost(self, name: str) -> float | None:
        """Return the CPU seconds of the dearest build of ``name`` on record; None: never built here."""
        costs = (_cost(path) for path in (self.root / name).glob("*/manifest.json"))
        return max((cost for cost in costs if cost is not None), default=None)

    @contextmanager
    def building(self, name: str) -> Iterator[Path]:
        """Hold the lock of ``name`` and give an empty directory to build in; it is gone afterwards unless stored."""
        home = self.root / name
        home.mkdir(exist_ok=True)
        with locked(home / ".lock"):
            for remains in [*home.glob(".building-*"), *home.glob(".old-*")]:
                remove_tree(remains)
            place = Path(tempfile.mkdtemp(prefix=".building-", dir=home))
            try:
                yield place
            finally:
                remove_tree(place)

    def keep(self, entry: Entry, key: str, place: Path, *, cpu_seconds: float, wall_seconds: float) -> Artifact:
        """Store what was built in ``place`` (payload, SBOM) under ``key``, replacing what was there."""
        path = place / payload_name(entry.kind)
        found = digest(path)
        if entry.sha256 and entry.sha256 != found:
            raise wrong_digest(entry, found)
        manifest = Manifest(
            name=entry.name, version=entry.version, key=key, sha256=found, size=size(path),
            cpu_seconds=round(cpu_seconds, 2), wall_seconds=round(wall_seconds, 2),
            inputs=entry.model_dump(mode="json", include={"builder", "needs", "inputs"}), files=stamp(path),
        )  # fmt: skip
        write_file(place / "manifest.json", json.dumps(asdict(manifest), indent=1).encode(), mode=0o644)
        place.chmod(0o755)
        final = self.root / entry.name / key
        replaced = final.with_name(f".old-{key}")
        if final.exists():
            final.rename(replaced)
        place.rename(final)
        remove_tree(replaced)
        return Artifact(
            name=entry.name, kind=entry.kind, version=entry.version, key=key, path=final / path.name, sha256=found,
            image=entry.image, built=True,
        )  # fmt: skip


def remove_tree(tree: Path) -> None:
    """Remove a directory tree, if it is there, and never what is mounted in it."""
    done = subprocess.run(["rm", "-rf", "--one-file-system", "--", tree], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise GroundupError(
            f"{tree.name} cannot be removed: {' '.join(done.stderr.strip().splitlines()[-1:])}",
            where=str(tree),
            why="nothing else can take its place",
            remedy="see what is mounted there or who owns it, then run the same command again",
        )


def _cost(manifest: Path) -> float | None:
    """Return the CPU seconds of a manifest; None for a damaged one, which `find` reports and a rebuild replaces."""
    try:
        return float(json.loads(manifest.read_text(encoding="utf-8"))["cpu_seconds"])
    except (ValueError, KeyError, TypeError):
        return None


def wrong_digest(entry: Entry, found: str) -> GroundupError:
    """Return the error for an artifact that is not the one the lock promises."""
    return GroundupError(
        f"artifact {entry.name} {entry.version} has the wrong digest: sha256 {found}, the lock says {entry.sha256}",
        where=f"supply.lock: artifacts.{entry.name}.sha256",
        why="it was made from something else than what was locked, or the lock is out of date",
        remedy="find out what changed; when it is meant, record the new digest in the lock",
    )
