"""Read what no API gives away of a control host: Kubernetes' authorities and keys, for a backup set."""

from __future__ import annotations

import base64
import io
import tarfile
from typing import TYPE_CHECKING, Any

from .._base.errors import GroundupError
from .._base.files import write_file
from . import networks
from .host import NodeHost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .._base.changes import Changes

NEEDED = ("pki/ca.key", "pki/etcd/ca.key", "pki/sa.key")  # nothing can make these again
ENCRYPTION = "site/encryption.yaml"
# What every control host has alike; other files are one host's own, and made from these.
SHARED = (
    *(f"pki/{name}.{kind}" for name in ("ca", "etcd/ca", "front-proxy-ca") for kind in ("crt", "key")),
    "pki/sa.key", "pki/sa.pub", ENCRYPTION,
)  # fmt: skip


def take(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return the files' names, and all of them as ``content``, a tar archive in base64; in check mode the names alone.

    ``networks``: that the cluster was made with. ``leader``: this host has the keys that nothing can make again.
    """
    host, packed = NodeHost(name=given["name"]), io.BytesIO()
    listed = files(host)
    found = [name for name, _ in listed]
    said = {
        "changed": False, "leader": all(name in found for name in NEEDED), "files": found,
        "networks": networks.found(host.paths),
    }  # fmt: skip
    if changes.check or not said["leader"]:
        return said
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, path in listed:
            archive.add(path, arcname=name, recursive=False)
    return said | {"content": base64.b64encode(packed.getvalue()).decode()}


def shared(content: bytes) -> dict[str, bytes]:
    """Return those of `SHARED` in ``content``, a tar archive. Raises tarfile.TarError."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        there = [name for name in SHARED if name in archive.getnames()]
        return {name: stream.read() for name in there if (stream := archive.extractfile(name))}


def put(host: NodeHost, changes: Changes, content: str, *, anew: bool = False) -> bool:
    """Write those of `SHARED` in ``content`` that are missing; return whether one was. Raises GroundupError.

    ``anew``: nothing of Kubernetes ever ran on the host, and the key of Secrets at rest that a layer run has prepared
    gives way to the set's.
    """
    texts = shared(base64.b64decode(content))
    places = {name: host.paths.kubernetes / name for name in texts}
    differ = [name for name, path in places.items() if path.exists() and path.read_bytes() != texts[name]]
    if other := [name for name in differ if not (anew and name == ENCRYPTION)]:
        raise GroundupError(
            f"{host.name} has other keys than the set: {', '.join(other)}",
            where=f"host {host.name}, {host.paths.kubernetes}",
            why="certificates and Secrets of one are worth nothing with the keys of the other; nothing was changed",
            remedy="leave kubernetes-keys out of restore_parts; or move these files away, if they are the wrong ones",
        )
    missing = [name for name, path in places.items() if name in differ or not path.exists()]
    for name in missing:
        if changes.add(f"put back {name}"):
            write_file(places[name], texts[name], mode=0o644 if name.endswith((".crt", ".pub")) else 0o600)
    return bool(missing)


def files(host: NodeHost) -> list[tuple[str, Path]]:
    """Return name and path of every file of a set."""
    return sorted((str(path.relative_to(host.paths.kubernetes)), path) for path in _paths(host))


def _paths(host: NodeHost) -> Iterator[Path]:
    yield from (path for path in host.paths.pki.rglob("*") if path.is_file())
    if (encryption := host.paths.kubernetes / ENCRYPTION).is_file():
        yield encryption
