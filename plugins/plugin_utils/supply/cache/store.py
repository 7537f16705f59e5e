"""Store artifacts: ``<cache>/artifacts/<name>/<key>/`` has the payload, ``manifest.json`` and ``sbom.json``.

An artifact appears complete, by a rename, or not at all. The next build removes the remains of a killed one
(``.building-*``); they must be dead, because it holds the artifact's lock.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....module_utils._base.files import write_file
from ....module_utils._base.locks import locked
from ....module_utils._base.run import run
from ...paths import cache_dir
from ..errors import damaged, not_locked
from ..lock.model import Entry
from .artifact import Artifact, digest, payload_name, stamp

MARK = "used"  # a file beside the payload; its time is that of the artifact's last use


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Metadata of a stored artifact."""

    name: str
    version: str
    key: str
    sha256: str
    size: int  # bytes
    cpu_seconds: float
    wall_seconds: float
    inputs: dict[str, Any]
    files: list[list[int | str]]  # name, size and mtime of its files when it was stored


class ArtifactStore:
    def __init__(self) -> None:
        """Open the store in the user's cache; create it when missing."""
        cache = cache_dir()
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)  # whatever the umask: others cannot reach what is below
        self.root = cache / "artifacts"
        self.root.mkdir(exist_ok=True)

    def find(self, entry: Entry, key: str, *, thorough: bool = False) -> Artifact | None:
        """Return the artifact of ``entry`` with ``key``, None when it is not stored.

        If a file's size or time has changed since it was stored, or with ``thorough``, the digest is computed again.
        Raises GroundupError naming an artifact whose content has changed.
        """
        place = self.root / entry.name / key
        manifest = self.manifest(entry.name, key)
        if manifest is None:
            return None
        path = place / payload_name(entry.kind)
        found = stamp(path) if path.exists() else []
        if (thorough or found != manifest.files) and (not path.exists() or digest(path) != manifest.sha256):
            raise damaged(entry.name, path)
        _check_digest(entry, manifest.sha256)
        (place / MARK).touch()
        return _artifact(entry, key, path, manifest.sha256)

    def manifest(self, name: str, key: str) -> Manifest | None:
        """Return the manifest of a stored artifact, None when there is none."""
        try:
            return Manifest(**json.loads((self.root / name / key / "manifest.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise damaged(name, self.root / name / key, f"its manifest cannot be read: {error}") from error

    def last_cost(self, name: str) -> tuple[float, float] | None:
        """Return CPU seconds and seconds of the most expensive recorded build of ``name``; None: never built here.

        A damaged manifest is skipped: `find` reports it, and a rebuild replaces it.
        """
        costs = []
        for path in (self.root / name).glob("*/manifest.json"):
            with suppress(ValueError, KeyError, TypeError):
                manifest = json.loads(path.read_text(encoding="utf-8"))
                costs.append((float(manifest["cpu_seconds"]), float(manifest["wall_seconds"])))
        return max(costs, default=None)

    def last_size(self, name: str) -> int | None:
        """Return the bytes of the largest stored artifact called ``name``; None: never made here."""
        sizes = []
        for path in (self.root / name).glob("*/manifest.json"):
            with suppress(ValueError, KeyError, TypeError):
                sizes.append(int(json.loads(path.read_text(encoding="utf-8"))["size"]))
        return max(sizes, default=None)

    @contextmanager
    def building(self, name: str) -> Iterator[Path]:
        """Hold the lock of ``name`` and yield an empty directory to build in, removed at the end unless stored."""
        home = self.root / name
        home.mkdir(exist_ok=True)
        with locked(home / ".lock"):
            for stale in [*home.glob(".building-*"), *home.glob(".old-*")]:
                remove_tree(stale)
            place = Path(tempfile.mkdtemp(prefix=".building-", dir=home))
            try:
                yield place
            finally:
                remove_tree(place)

    def keep(self, entry: Entry, key: str, place: Path, *, cpu_seconds: float, wall_seconds: float) -> Artifact:
        """Store the payload and SBOM built in ``place`` under ``key``, replacing an existing artifact."""
        path = place / payload_name(entry.kind)
        found = digest(path)
        _check_digest(entry, found)
        files = stamp(path)
        manifest = Manifest(
            name=entry.name, version=entry.version, key=key, sha256=found, size=sum(int(size) for _, size, _ in files),
            cpu_seconds=round(cpu_seconds, 2), wall_seconds=round(wall_seconds, 2),
            inputs=entry.model_dump(mode="json", include={"builder", "needs", "inputs"}), files=files,
        )  # fmt: skip
        write_file(place / "manifest.json", json.dumps(asdict(manifest), indent=1).encode(), mode=0o644)
        place.chmod(0o755)
        final = self.root / entry.name / key
        replaced = final.with_name(f".old-{key}")
        if final.exists():
            final.rename(replaced)
        place.rename(final)
        remove_tree(replaced)
        return _artifact(entry, key, final / path.name, found, built=True)


def _artifact(entry: Entry, key: str, path: Path, sha256: str, *, built: bool = False) -> Artifact:
    return Artifact(
        name=entry.name, kind=entry.kind, version=entry.version, key=key, path=path, sha256=sha256, image=entry.image,
        serves=entry.serves, built=built,
    )  # fmt: skip


def _check_digest(entry: Entry, found: str) -> None:
    if entry.sha256 and entry.sha256 != found:
        raise not_locked(entry, f"the build has sha256 {found}", locked=entry.sha256, key="sha256")


def remove_tree(tree: Path) -> None:
    """Remove a directory tree, if it exists, but never file systems mounted in it."""
    run(
        ["rm", "-rf", "--one-file-system", "--", str(tree)],
        why="nothing else can take its place",
        remedy="see what is mounted there or who owns it, then run the same command again",
        timeout=1800,
    )
