"""Fetch a file that was published as an OCI artifact, where it is a layer as it is.

A layer's digest is that of its file: who knows the file needs neither its title nor its media type to choose it.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ...module_utils._base.run import run
from ..errors import GroundupError
from .builders.upstream import manifest, plain_http

_TIMEOUT = 4 * 3600.0  # seconds: images of disks have tens of GiB
_TITLE = "org.opencontainers.image.title"


def fetch(reference: str, sha256: str, *, into: Path, why: str) -> Path:
    """Fetch the artifact ``host/path:tag`` or ``host/path@digest`` into a directory; return the path of its file.

    What does not hold the file is not fetched; skopeo compares digests. The login is that of ``skopeo login``.
    Raises GroundupError.
    """
    content, digest = manifest(reference, where=reference, why=why), f"sha256:{sha256}"
    layers, said = _held(content)
    if digest not in layers:
        raise GroundupError(
            f"no layer of it has the digest {sha256}; it has {', '.join(said) or 'none'}", where=reference, why=why,
            remedy="write the digest of the layer that is the file; of a list of manifests name one: oci://HOST/PATH@sha256:DIGEST",
        )  # fmt: skip
    repository = reference.partition("@")[0] if "@" in reference else reference.rpartition(":")[0]
    run(
        ["skopeo", "--insecure-policy", "copy", "--quiet", "--preserve-digests", "--retry-times=2",
         *plain_http("--src-tls-verify", reference),
         f"docker://{repository}@sha256:{hashlib.sha256(content).hexdigest()}", f"dir:{into}"],
        why=why, remedy="look at the registry, and whether TMPDIR has room for the whole artifact",
        timeout=_TIMEOUT, environment=os.environ, detached=False,
    )  # fmt: skip
    path = into / sha256
    if (size := path.stat().st_size) != layers[digest]:
        raise GroundupError(
            f"its manifest says {layers[digest]} bytes, the layer has {size}", where=reference, why=why,
            remedy="ask who publishes it",
        )  # fmt: skip
    return path


def _held(content: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return digest -> size of a manifest's layers, and what it says of them; of a list, what it says of manifests."""
    try:
        found = json.loads(content)
        layers = found.get("layers") or []
        sizes = {str(one["digest"]): one.get("size") for one in layers}
        return sizes, [_said(one) for one in layers or found.get("manifests") or []]
    except (ValueError, AttributeError, KeyError, TypeError):
        return {}, []


def _said(one: Any) -> str:
    names = (one.get("annotations") or {}).get(_TITLE), (one.get("platform") or {}).get("architecture")
    return f"{one['digest']} ({', '.join(filter(None, (*names, one.get('mediaType'))))})"
