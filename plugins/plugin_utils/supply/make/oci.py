"""Write deterministic OCI image archives: the same trees give the same digests.

Layout and media types: OCI image specification 1.0. The layer is zstd, which containerd and skopeo read.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from ..cache.artifact import file_digest
from .context import BuildContext

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageConfig:
    """How containers of an image start, with the fields of the OCI image configuration."""

    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"})
    user: str = ""
    workdir: str = "/"
    labels: Mapping[str, str] = field(default_factory=dict)


def write_layer(
    context: BuildContext,
    *,
    layer: Path,
    config: ImageConfig,
    reference: str,
    below: Sequence[Path] = (),
    variants: Mapping[str, ImageConfig] | None = None,
) -> None:
    """Write the image with the uncompressed ``layer`` (see ``Chroot.pack``) to ``context.output``.

    ``reference``: ``repository:tag`` below the site's registry; only an annotation of the archive. ``below``: layers
    under it, lowest first, as ``.tar.zst``; registries and hosts store a layer once for all images on it. ``variants``:
    reference -> configuration of more images with the same layers in this archive.
    """
    compressed = context.scratch / "layer.tar.zst"
    context.run(["zstd", "-q", "-f", "-T0", "-3", "-o", compressed, layer])
    plain_digests = []
    for lower in below:
        plain = context.scratch / "lower.tar"
        context.run(["zstd", "-q", "-d", "-f", "-o", plain, lower])
        plain_digests.append(f"sha256:{file_digest(plain)}")
    plain_digests.append(f"sha256:{file_digest(layer)}")
    members: dict[str, bytes | Path] = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"})}

    def blob(kind: str, content: bytes | Path) -> dict[str, Any]:
        """Add a blob; return its descriptor."""
        digest = file_digest(content) if isinstance(content, Path) else hashlib.sha256(content).hexdigest()
        members[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": _size(content)}

    created = datetime.fromtimestamp(context.lock.pins.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    layers = [blob(_LAYER, path) for path in (*below, compressed)]

    def image(reference: str, config: ImageConfig) -> dict[str, Any]:
        """Add an image; return its descriptor."""
        stated: dict[str, Any] = {
            "Entrypoint": list(config.entrypoint), "Cmd": list(config.cmd), "User": config.user,
            "WorkingDir": config.workdir, "Labels": dict(sorted(config.labels.items())),
            "Env": [f"{key}={value}" for key, value in sorted(config.env.items())],
        }  # fmt: skip
        described = blob(_CONFIG, _json({
            "architecture": "amd64", "os": "linux", "created": created,
            "config": {key: value for key, value in stated.items() if value},
            "rootfs": {"type": "layers", "diff_ids": plain_digests},
            "history": [{"created": created, "created_by": "groundup.cloud supply"} for _ in plain_digests],
        }))  # fmt: skip
        manifest = blob(_MANIFEST, _json({
            "schemaVersion": 2, "mediaType": _MANIFEST, "config": described, "layers": layers,
        }))  # fmt: skip
        return {**manifest, "annotations": {"org.opencontainers.image.ref.name": reference}}

    images = [image(name, each) for name, each in {reference: config, **(variants or {})}.items()]
    members["index.json"] = _json({"schemaVersion": 2, "manifests": images})
    with tarfile.open(context.output, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(members.items()):
            info = tarfile.TarInfo(name)
            info.mode = 0o644
            info.size = _size(content)
            with content.open("rb") if isinstance(content, Path) else BytesIO(content) as stream:
                archive.addfile(info, stream)


def manifest_digest(archive: Path) -> str:
    """Return the manifest digest (``sha256:...``) of the image in an archive, as in a registry."""
    with tarfile.open(archive) as tar:
        stream = tar.extractfile("index.json")
        assert stream is not None  # noqa: S101 - a regular file always gives a stream
        return str(json.load(stream)["manifests"][0]["digest"])


def _json(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _size(content: bytes | Path) -> int:
    return content.stat().st_size if isinstance(content, Path) else len(content)
