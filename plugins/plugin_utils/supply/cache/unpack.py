"""Unpack archives of artifacts into directories, once per digest; nothing writes to them afterwards."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ....module_utils._base.locks import locked
from ....module_utils._base.run import run
from ...errors import GroundupError
from ...paths import cache_dir
from ..errors import damaged
from .artifact import Artifact, digest
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


def unpacked(artifact: Artifact, *, archive: str = "") -> Path:
    """Return the directory of an artifact of kind ``root``, or of the ``archive`` among its files; unpack it once.

    Raises GroundupError when the artifact's content has changed.
    """
    home().mkdir(parents=True, exist_ok=True)
    final = home() / unpacked_name(artifact.name, artifact.sha256)
    if not final.is_dir():
        with locked(home() / f".{artifact.name}.lock"):
            if not final.is_dir():
                _unpack(artifact, artifact.path / archive, final)
    mark(final).touch()
    return final


def _unpack(artifact: Artifact, archive: Path, final: Path) -> None:
    for stale in (*home().glob(f".{artifact.name}-*.partial"), *home().glob(f".old-{artifact.name}-*")):
        remove_tree(stale)
    if digest(artifact.path) != artifact.sha256:
        raise damaged(artifact.name, artifact.path)
    place = Path(tempfile.mkdtemp(prefix=f".{artifact.name}-", suffix=".partial", dir=home()))
    place.chmod(0o755)
    try:
        run(
            ["tar", "--extract", "--numeric-owner", "--xattrs", "--xattrs-include=*",
             "-f", str(archive), "-C", str(place)],
            why=f"what runs from {artifact.name} {artifact.version} has no files",
            remedy=f"make room in {home()} (`ci/supply prune` removes what nothing uses), run the same command again",
            timeout=1800,
            detached=False,
        )  # fmt: skip
    except GroundupError:
        remove_tree(place)
        raise
    place.rename(final)
