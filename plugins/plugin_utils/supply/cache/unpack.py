"""Root file systems as directories: unpacked once per digest, never written to afterwards."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from ....module_utils._base.locks import locked
from ...errors import GroundupError
from ...paths import cache_dir
from ..errors import damaged
from .artifact import Artifact, file_digest


def home() -> Path:
    """Return the directory of unpacked roots."""
    return cache_dir() / "unpacked"


def unpacked_name(name: str, sha256: str) -> str:
    """Return the name of a root's directory."""
    return f"{name}-{sha256[:16]}"


def mark(place: Path) -> Path:
    """Return the file whose time says when the root at ``place`` was last asked for; the root itself stays as it is."""
    return place.with_name(f".{place.name}.used")


def unpacked(artifact: Artifact) -> Path:
    """Return the directory with the unpacked content of an artifact of kind ``root``; unpack it when it is not there.

    Raises GroundupError when the archive is not what was stored.
    """
    home().mkdir(parents=True, exist_ok=True)
    final = home() / unpacked_name(artifact.name, artifact.sha256)
    if not final.is_dir():
        with locked(home() / f".{artifact.name}.lock"):
            if not final.is_dir():
                _unpack(artifact, final)
    mark(final).touch()
    return final


def _unpack(artifact: Artifact, final: Path) -> None:
    for stale in (*home().glob(f".{artifact.name}-*.partial"), *home().glob(f".old-{artifact.name}-*")):
        shutil.rmtree(stale)
    if file_digest(artifact.path) != artifact.sha256:
        raise damaged(artifact.name, artifact.path)
    place = Path(tempfile.mkdtemp(prefix=f".{artifact.name}-", suffix=".partial", dir=home()))
    place.chmod(0o755)
    done = subprocess.run(
        ["tar", "--extract", "--zstd", "--numeric-owner", "--xattrs", "--xattrs-include=*",
         "-f", artifact.path, "-C", place],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        shutil.rmtree(place, ignore_errors=True)
        raise GroundupError(
            f"root file system {artifact.name} {artifact.version} cannot be unpacked: "
            f"{' '.join(done.stderr.strip().splitlines()[-2:])}",
            where=str(home()),
            why="hosts and builds start from it",
            remedy="make room there (`ci/supply prune` removes what nothing uses), then run the same command again",
        )
    place.rename(final)
