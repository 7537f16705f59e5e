"""Unpack root file systems into directories, once per digest; nothing writes to them afterwards."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ....module_utils._base.locks import locked
from ....module_utils._base.run import run
from ...errors import GroundupError
from ...paths import cache_dir
from ..errors import damaged
from .artifact import Artifact, file_digest
from .store import remove_tree


def home() -> Path:
    """Return the directory of unpacked roots."""
    return cache_dir() / "unpacked"


def unpacked_name(name: str, sha256: str) -> str:
    """Return the name of a root's directory."""
    return f"{name}-{sha256[:16]}"


def mark(place: Path) -> Path:
    """Return the file whose time is that of the last use of the root at ``place``; the root itself stays unchanged."""
    return place.with_name(f".{place.name}.used")


def unpacked(artifact: Artifact) -> Path:
    """Return the directory of an artifact of kind ``root``; unpack it when it is missing.

    Raises GroundupError when the archive's content has changed.
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
        remove_tree(stale)
    if file_digest(artifact.path) != artifact.sha256:
        raise damaged(artifact.name, artifact.path)
    place = Path(tempfile.mkdtemp(prefix=f".{artifact.name}-", suffix=".partial", dir=home()))
    place.chmod(0o755)
    try:
        run(
            ["tar", "--extract", "--zstd", "--numeric-owner", "--xattrs", "--xattrs-include=*",
             "-f", str(artifact.path), "-C", str(place)],
            why=f"hosts and builds start from root file system {artifact.name} {artifact.version}",
            remedy=f"make room in {home()} (`ci/supply prune` removes what nothing uses), run the same command again",
            timeout=1800,
            detached=False,
        )  # fmt: skip
    except GroundupError:
        remove_tree(place)
        raise
    place.rename(final)
