"""Read what no API gives away of a control host: Kubernetes' authorities and keys, for a backup set."""

from __future__ import annotations

import base64
import io
import tarfile
from typing import TYPE_CHECKING, Any

from .._base.errors import GroundupError
from .host import NodeHost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .._base.changes import Changes

NEEDED = ("pki/ca.key", "pki/etcd/ca.key", "pki/sa.key")  # nothing can make these again
ENCRYPTION = "site/encryption.yaml"


def look(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001  # it only reads
    """Return the names of the files that :func:`take` reads; ``leader``: this host has them. Raises GroundupError."""
    host = NodeHost(name=given["name"])
    files = [name for name, _ in _files(host)]
    return {"changed": False, "leader": not _missing(files), "files": files}


def take(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001  # it only reads
    """Return all files as ``content``, a tar archive in base64. Raises GroundupError when a key is missing."""
    host, packed = NodeHost(name=given["name"]), io.BytesIO()
    files = _files(host)
    found = [name for name, _ in files]
    if missing := _missing(found):
        raise GroundupError(
            f"{host.name} lacks {', '.join(missing)}",
            where=f"host {host.name}, {host.paths.kubernetes}",
            why="nothing can make these keys again: a set without them restores no cluster",
            remedy="if this host is no member of the cluster yet, run the playbook groundup.cloud.kubernetes first",
        )
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, path in files:
            archive.add(path, arcname=name, recursive=False)
    return {"changed": False, "files": found, "content": base64.b64encode(packed.getvalue()).decode()}


def _missing(found: list[str]) -> list[str]:
    return [name for name in NEEDED if name not in found]


def _files(host: NodeHost) -> list[tuple[str, Path]]:
    return sorted((str(path.relative_to(host.paths.kubernetes)), path) for path in _paths(host))


def _paths(host: NodeHost) -> Iterator[Path]:
    yield from (path for path in host.paths.pki.rglob("*") if path.is_file())
    if (encryption := host.paths.kubernetes / ENCRYPTION).is_file():
        yield encryption
