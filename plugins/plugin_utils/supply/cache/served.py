"""Lay out files of artifacts as a tree for a seed's web server."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from ....module_utils._base.files import write_file
from ....module_utils._base.locks import locked
from ...paths import cache_dir
from ..errors import damaged
from .artifact import Artifact, digest, file_digest

LAID_OUT = ".artifact.json"  # written last, beside an artifact's files: its digest; its time is that of the last use


def served() -> Path:
    """Return the controller's directory of the served tree, beside the artifacts it links to."""
    return cache_dir() / "served"


def lay_out(destination: Path, artifact: Artifact, *, directory: str = "") -> list[Path]:
    """Lay out the files of an artifact as ``<family>/<version>/<file>`` with ``<file>.sha256`` beside each.

    ``directory``: a name in place of the version.

    Files are hard links into the cache if the file system allows it. Current artifacts are left unchanged; files that a
    rebuilt artifact no longer has are removed. A lock allows one call at a time below ``destination``. Returns the
    files that were written.
    """
    destination.mkdir(parents=True, exist_ok=True)
    with locked(destination / ".lock"):
        return _lay_out(destination / artifact.place.with_name(directory or artifact.version), artifact)


def _lay_out(place: Path, artifact: Artifact) -> list[Path]:
    sums = place / LAID_OUT
    if sums.exists() and json.loads(sums.read_text(encoding="utf-8")) == {"sha256": artifact.sha256}:
        sums.touch()
        return []
    if digest(artifact.path) != artifact.sha256:
        raise damaged(artifact.name, artifact.path)
    written = []
    for source in sorted(p for p in artifact.path.rglob("*") if p.is_file()):
        target = place / source.relative_to(artifact.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        found = file_digest(source)
        _link(source, target)
        write_file(target.with_name(target.name + ".sha256"), f"{found}  {target.name}\n".encode(), mode=0o644)
        written.append(target)
    kept = {*written, *(target.with_name(f"{target.name}.sha256") for target in written), sums}
    for stale in (path for path in place.rglob("*") if path.is_file() and path not in kept):
        stale.unlink()
    write_file(sums, json.dumps({"sha256": artifact.sha256}).encode(), mode=0o644)
    return written


def _link(source: Path, target: Path) -> None:
    temporary = target.with_name(f".{target.name}.new")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copy2(source, temporary)
    temporary.replace(target)
