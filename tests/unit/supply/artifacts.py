"""OCI artifacts for a test's registry: files as layers, as `oras push` makes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from .registry import MANIFEST, Registry

EMPTY = b"{}"


def sha256(content: bytes) -> str:
    """Return the digest of ``content``, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def manifest(files: Mapping[str, bytes]) -> bytes:
    """Return the manifest of an artifact with ``files`` by title."""
    empty = {"mediaType": "application/vnd.oci.empty.v1+json", "digest": f"sha256:{sha256(EMPTY)}", "size": 2}
    layers = [
        {
            "mediaType": "application/octet-stream",
            "digest": f"sha256:{sha256(content)}",
            "size": len(content),
            "annotations": {"org.opencontainers.image.title": title},
        }
        for title, content in files.items()
    ]
    artifact = {"artifactType": "application/vnd.example.disk", "config": empty, "layers": layers}
    return json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, **artifact}).encode()


def put(registry: Registry, repository: str, tagged: str, files: Mapping[str, bytes]) -> None:
    """Put an artifact into the registry."""
    registry.blobs |= {f"sha256:{sha256(content)}": content for content in (EMPTY, *files.values())}
    tag(registry, repository, tagged, manifest(files))


def tag(registry: Registry, repository: str, name: str, content: bytes, *, kind: str = MANIFEST) -> None:
    """Give a manifest a name, and its digest."""
    digest = f"sha256:{sha256(content)}"
    registry.manifests |= {(repository, name): content, (repository, digest): content}
    registry.kinds[digest] = kind
