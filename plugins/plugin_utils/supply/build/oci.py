"""Deterministic OCI image archives: the same trees give the same digests.

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
from .archive import pack_command
from .context import BuildContext

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageConfig:
    """How containers of an image start; the fields are those of the OCI image configuration."""

    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"})
    user: str = ""
    workdir: str = "/"
    labels: Mapping[str, str] = field(default_factory=dict)


def write_tree(context: BuildContext, *, tree: Path, config: ImageConfig, reference: str) -> None:
    """Write the image of a directory tree (owners and modes as they are) to ``context.output``."""
    layer = context.scratch / "layer.tar"
    context.run(pack_command(tree, layer, epoch=context.lock.pins.epoch))
    write_layer(context, layer=layer, config=config, reference=reference)


def write_layer(
    context: BuildContext, *, layer: Path, config: ImageConfig, reference: str, below: Sequence[Path] = ()
) -> None:
    """Write the image with the uncompressed ``layer`` (see ``Chroot.pack``) to ``context.output``.

    Args:
        reference: ``repository:tag`` below the site's registry; only an annotation of the archive.
        below: layers under it, lowest first, as ``.tar.zst`` (an artifact of kind ``root`` is one). Registries and
            hosts keep a layer once, whatever the number of images on it.
    """
    epoch = context.lock.pins.epoch
    compressed = context.scratch / "layer.tar.zst"
    context.run(["zstd", "-q", "-f", "-T0", "-3", "-o", compressed, layer])
    layers: list[tuple[str, Path]] = []
    for lower in below:
        plain = context.scratch / "lower.tar"
        context.run(["zstd", "-q", "-d", "-f", "-o", plain, lower])
        layers.append((file_digest(plain), lower))
    layers.append((file_digest(layer), compressed))
    blobs: dict[str, bytes | Path] = {}

    def blob(content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"digest": f"sha256:{digest}", "size": len(content)}

    stated: dict[str, Any] = {
        "Entrypoint": list(config.entrypoint), "Cmd": list(config.cmd), "User": config.user,
        "WorkingDir": config.workdir, "Labels": dict(sorted(config.labels.items())),
        "Env": [f"{key}={value}" for key, value in sorted(config.env.items())],
    }  # fmt: skip
    described = blob(_json({
        "architecture": "amd64", "os": "linux", "created": _time(epoch),
        "config": {key: value for key, value in stated.items() if value},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{plain_digest}" for plain_digest, _ in layers]},
        "history": [{"created": _time(epoch), "created_by": "groundup.cloud supply"} for _ in layers],
    }))  # fmt: skip
    listed = []
    for _, path in layers:
        digest = file_digest(path)
        blobs[digest] = path
        listed.append({"mediaType": _LAYER, "digest": f"sha256:{digest}", "size": path.stat().st_size})
    manifest = blob(_json({
        "schemaVersion": 2, "mediaType": _MANIFEST, "config": {"mediaType": _CONFIG, **described},
        "layers": listed,
    }))  # fmt: skip
    annotations = {"org.opencontainers.image.ref.name": reference}
    index = {"schemaVersion": 2, "manifests": [{"mediaType": _MANIFEST, **manifest, "annotations": annotations}]}
    members: dict[str, bytes | Path] = {"index.json": _json(index)}
    members["oci-layout"] = _json({"imageLayoutVersion": "1.0.0"})
    members |= {f"blobs/sha256/{digest}": content for digest, content in blobs.items()}
    with tarfile.open(context.output, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(members.items()):
            _add(archive, name, content)


def manifest_digest(archive: Path) -> str:
    """Return the digest (``sha256:...``) by which a registry knows the image of an archive."""
    with tarfile.open(archive) as tar:
        stream = tar.extractfile("index.json")
        assert stream is not None  # noqa: S101 - a regular file always gives a stream
        return str(json.load(stream)["manifests"][0]["digest"])


def _add(archive: tarfile.TarFile, name: str, content: bytes | Path) -> None:
    info = tarfile.TarInfo(name)
    info.mode = 0o644
    if isinstance(content, Path):
        info.size = content.stat().st_size
        with content.open("rb") as stream:
            archive.addfile(info, stream)
    else:
        info.size = len(content)
        archive.addfile(info, BytesIO(content))


def _json(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _time(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
