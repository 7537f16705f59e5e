"""Read what no API gives away of a control host: Kubernetes' authorities and keys, for a backup set."""

from __future__ import annotations

import base64
import io
import tarfile
from typing import TYPE_CHECKING, Any

from .host import NodeHost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .._base.changes import Changes

NEEDED = ("pki/ca.key", "pki/etcd/ca.key", "pki/sa.key")  # nothing can make these again
ENCRYPTION = "site/encryption.yaml"


def take(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return the files' names, and all of them as ``content``, a tar archive in base64; in check mode the names alone.

    ``leader``: this host has the keys that nothing can make again.
    """
    host, packed = NodeHost(name=given["name"]), io.BytesIO()
    files = _files(host)
    found = [name for name, _ in files]
    said = {"changed": False, "leader": all(name in found for name in NEEDED), "files": found}
    if changes.check or not said["leader"]:
        return said
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, path in files:
            archive.add(path, arcname=name, recursive=False)
    return said | {"content": base64.b64encode(packed.getvalue()).decode()}


def _files(host: NodeHost) -> list[tuple[str, Path]]:
    return sorted((str(path.relative_to(host.paths.kubernetes)), path) for path in _paths(host))


def _paths(host: NodeHost) -> Iterator[Path]:
    yield from (path for path in host.paths.pki.rglob("*") if path.is_file())
    if (encryption := host.paths.kubernetes / ENCRYPTION).is_file():
        yield encryption
